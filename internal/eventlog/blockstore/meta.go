package blockstore

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// meta is the server's file of a stream's settings.
type meta struct {
	Name     string            `json:"name"`
	FirstSeq uint64            `json:"first_seq"`
	Metadata map[string]string `json:"metadata"`

	// With other values of these the server could remove messages when it opens the stream.
	Storage           string `json:"storage"`
	Retention         string `json:"retention"`
	Compression       string `json:"compression"`
	MaxMsgs           int64  `json:"max_msgs"`
	MaxBytes          int64  `json:"max_bytes"`
	MaxAge            int64  `json:"max_age"`
	MaxMsgsPerSubject int64  `json:"max_msgs_per_subject"`
}

const (
	metaFile = "meta.inf"
	metaSum  = "meta.sum"
)

// The keys of Metadata that are read here. Package eventlog writes them when it creates the stream.
const (
	MetaLogID      = "log_id"
	MetaPartitions = "partitions"
	MetaRestoring  = "restoring" // there until a restore has ended
	MetaTrimmable  = "trimmable" // there if the oldest messages may be removed
	MetaFormat     = "format"    // of the stream's messages; this build reads and writes Format only
)

// Format is the format of a stream's messages.
const Format = "2"

var errMeta = errors.New("the stream's settings cannot be read")

// meta reads the stream's settings as strictly as the server does. The server ignores a
// stream whose settings it cannot read, and a new stream would then replace the old one. The error is errMeta if they
// are lost or damaged.
func (s *Store) meta() (m meta, err error) {
	path := filepath.Join(s.folder, metaFile)
	content, err := os.ReadFile(path)
	sum, err2 := os.ReadFile(filepath.Join(s.folder, metaSum))
	if err = cmp.Or(err, err2); isLost(err) {
		err = fmt.Errorf("%w: %w", errMeta, err)
	}
	if err != nil {
		return meta{}, err
	}
	hash := checksumFor(s.stream)
	_, _ = hash.Write(content) // never fails
	if string(sum) != hex.EncodeToString(hash.Sum(nil)) {
		return meta{}, fmt.Errorf("%w: %s does not match its checksum", errMeta, path)
	}
	if err := json.Unmarshal(content, &m); err != nil {
		return meta{}, fmt.Errorf("%w: %s: %w", errMeta, path, err)
	}
	return m, nil
}

// fault returns what is wrong with the settings: they are not payfold's, or they let the
// server remove messages. It returns "" if they are right.
func (m meta) fault(stream string) string {
	switch {
	case m.Name != stream:
		return fmt.Sprintf("they belong to stream %q", m.Name)
	case m.Metadata[MetaLogID] == "":
		return "they have no " + MetaLogID + ": payfold did not create the stream"
	case m.Storage != "file" || m.Retention != "limits" || m.Compression != "none":
		return fmt.Sprintf("storage %s, retention %s, compression %s; they must be file, limits and none", m.Storage, m.Retention, m.Compression)
	case m.MaxMsgs > 0 || m.MaxBytes > 0 || m.MaxAge > 0 || m.MaxMsgsPerSubject > 0:
		return "they limit what the stream holds: the server would remove messages"
	}
	return ""
}

// first returns the sequence of the stream's first message.
func (m meta) first() uint64 { return max(m.FirstSeq, 1) }
