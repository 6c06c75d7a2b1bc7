// Package storage keeps the objects of the archive: in a folder, or in an object store that speaks
// S3. An object is created whole, once, and never changed.
package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
)

// Place stores objects: a Folder, or a bucket of an object store. A name has one slash, between the
// folder and the object. All methods are safe for concurrent use, also by other processes.
type Place interface {
	// List lists the objects in a folder, in any order; nothing for a folder that is not there. With an empty name it
	// lists the folders.
	List(ctx context.Context, folder string) ([]string, error)
	// Create stores what write writes. Nobody ever sees a part of it. It returns ErrExists if
	// there is an object of that name, which stays as it is. After any other error the object
	// may exist, but then whole.
	Create(ctx context.Context, name string, write func(io.Writer) error) error
	// Open opens an object. The error is fs.ErrNotExist if there is none. ctx also applies to the
	// reads.
	Open(ctx context.Context, name string) (Object, error)
	// Sync makes durable the names in a folder, and the bytes of these objects in it. Another process may have created
	// them and not have synced them yet, or somebody may have copied them by hand. The error is fs.ErrNotExist if one
	// of them does not exist.
	Sync(ctx context.Context, folder string, objects ...string) error
	// Remove removes an object. It is not an error if there is none. The replacement of the object must be durable
	// before; see Sync.
	Remove(ctx context.Context, name string) error
	// String names the place for people, without credentials.
	String() string
}

// Object is one open object.
type Object interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// ErrExists means that there is an object of that name already.
var ErrExists = errors.New("the object exists already")

// None is the URL that stands for no archive.
const None = "none"

// Settings say where a place is.
type Settings struct {
	URL        string       // a folder, or s3://bucket/prefix
	S3Endpoint string       // of a store that is not Amazon's: https://host:port
	Logger     *slog.Logger // is told of a store that does not answer; may be nil
}

// Place returns the place. It connects to nothing and creates nothing.
func (s Settings) Place() (Place, error) {
	switch scheme, rest, found := strings.Cut(s.URL, "://"); {
	case s.URL == "" || s.URL == None:
		return nil, errors.New("there is no archive")
	case !found && strings.HasPrefix(strings.ToLower(s.URL), "s3:"): // a mistyped s3://, not a folder on this disk
		return nil, fmt.Errorf("%q is not s3://bucket/prefix", s.URL)
	case !found:
		return &Folder{Root: s.URL}, nil
	case scheme == "file":
		return &Folder{Root: rest}, nil
	case scheme == "s3":
		address, err := url.Parse(s.URL)
		if err != nil || address.Host == "" || address.User != nil || address.RawQuery != "" {
			return nil, fmt.Errorf("%q is not s3://bucket/prefix", s.URL)
		}
		return newBucket(address.Host, strings.Trim(address.Path, "/"), s)
	default:
		return nil, fmt.Errorf("%q is neither a folder nor s3://bucket/prefix", s.URL)
	}
}
