package cli

import (
	"log/slog"
	"path/filepath"

	"github.com/payfold/payfold/internal/archive/storage"
)

// ArchiveFlags say where the archive of the log is.
type ArchiveFlags struct {
	ArchiveURL string `name:"archive-url" env:"ARCHIVE_URL" help:"Where the log is archived: a folder, s3://bucket/prefix, or none; the default is the folder archive in the data directory, or none if nats-url is set."`
	S3Endpoint string `name:"archive-s3-endpoint" env:"ARCHIVE_S3_ENDPOINT" help:"https://host:port of an object store that is not Amazon's."`
}

// CheckArchive adds the faults and sets the default.
func (f *ArchiveFlags) CheckArchive(common *Common, faults *Faults) {
	switch {
	case f.ArchiveURL == "" && common.NATSURL != "":
		f.ArchiveURL = storage.None
	case f.ArchiveURL == "":
		f.ArchiveURL = filepath.Join(common.DataDir, "archive")
	}
	if _, err := f.Place(nil); err != nil {
		faults.Addf("ARCHIVE_URL: %w", err)
	}
	CheckSecretVariables(faults, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
}

// RequireArchive is CheckArchive for a command that needs an archive.
func (f *ArchiveFlags) RequireArchive(common *Common, faults *Faults) {
	f.CheckArchive(common, faults)
	if f.ArchiveURL == storage.None {
		faults.Addf("there is no archive: ARCHIVE_URL is none, as it is by default with NATS_URL; set it to a folder or s3://bucket/prefix")
	}
}

// Place returns where the archive is; nil if there is none. It connects to nothing. The logger is told of an object store
// that does not answer; it may be nil.
func (f *ArchiveFlags) Place(logger *slog.Logger) (storage.Place, error) {
	if f.ArchiveURL == storage.None {
		return nil, nil
	}
	return storage.Settings{URL: f.ArchiveURL, S3Endpoint: f.S3Endpoint, Logger: logger}.Place()
}
