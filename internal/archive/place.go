package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
)

// Place stores segments: a folder or a bucket. Names have one slash, between the log's folder and
// the segment. All methods are safe for concurrent use, also by other processes.
type Place interface {
	// Folders lists the folders of logs.
	Folders(ctx context.Context) ([]string, error)
	// List lists what is in a folder, in any order; nothing for a folder that is not there.
	List(ctx context.Context, folder string) ([]string, error)
	// Create stores what write writes. Nobody ever sees a part of it. It returns ErrExists if
	// there is an object of that name, which stays as it is. After any other error the object
	// may exist, but then whole.
	Create(ctx context.Context, name string, write func(io.Writer) error) error
	// Open returns an error that is fs.ErrNotExist if there is no such object. ctx is also that
	// of the reads.
	Open(ctx context.Context, name string) (Object, error)
	// Remove removes an object; it is not an error if it is not there.
	Remove(ctx context.Context, name string) error
	// String names the place to people, without credentials.
	String() string
}

// Object is one open object.
type Object interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// ErrExists: somebody else has already created an object of that name.
var ErrExists = errors.New("the segment exists already")

// None is the place of no archive.
const None = "none"

// Settings say where an archive is.
type Settings struct {
	URL        string // a folder, or s3://bucket/prefix
	S3Endpoint string // of a store that is not Amazon's: https://host:port
}

// Place returns the place. It connects to nothing and creates nothing.
func (s Settings) Place() (Place, error) {
	switch scheme, rest, found := strings.Cut(s.URL, "://"); {
	case s.URL == "" || s.URL == None:
		return nil, errors.New("there is no archive")
	case !found:
		return newFolder(s.URL), nil
	case scheme == "file":
		return newFolder(rest), nil
	case scheme == "s3":
		address, err := url.Parse(s.URL)
		if err != nil || address.Host == "" || address.User != nil || address.RawQuery != "" {
			return nil, fmt.Errorf("%q is not s3://bucket/prefix", s.URL)
		}
		return newS3(address.Host, strings.Trim(address.Path, "/"), s.S3Endpoint)
	default:
		return nil, fmt.Errorf("%q is neither a folder nor s3://bucket/prefix", s.URL)
	}
}

const (
	suffix    = ".seg"
	seqDigits = 20
)

// partName is the name of the segment that begins with first, as it was cut.
func partName(first uint64) string { return fmt.Sprintf("%0*d%s", seqDigits, first, suffix) }

// mergedName is the name of a segment that was merged from others.
func mergedName(first, last uint64) string {
	return fmt.Sprintf("%0*d-%0*d%s", seqDigits, first, seqDigits, last, suffix)
}

// parseName returns the sequences in a segment's name. last is 0 if the name has none.
func parseName(name string) (first, last uint64, isSegment bool) {
	text, isSegment := strings.CutSuffix(name, suffix)
	from, to, merged := strings.Cut(text, "-")
	first, ok := parseSeq(from)
	if merged {
		var valid bool
		last, valid = parseSeq(to)
		ok = ok && valid && last >= first
	}
	if !isSegment || !ok {
		return 0, 0, false
	}
	return first, last, true
}

func parseSeq(text string) (uint64, bool) {
	seq, err := strconv.ParseUint(text, 10, 64)
	return seq, err == nil && len(text) == seqDigits && seq > 0 && text[0] != '+'
}
