package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// bucket is a Place in an object store that speaks S3.
type bucket struct {
	client    *minio.Client
	transport *slowTransport
	name      string
	prefix    string // ends with a slash, or is empty
}

// requestTimeout bounds a request without the transfer of a segment; transferTimeout bounds one
// with it. After the timeout the request fails and is tried again.
const (
	requestTimeout  = 30 * time.Second
	transferTimeout = 5 * time.Minute
)

// storeTries is how often the client itself tries a request that the store could not serve. The
// archiver tries again later.
const storeTries = 3

// newBucket finds the credentials where programs for S3 look for them: in the environment, in the
// files of the AWS command line, and in the machine's role.
func newBucket(name, prefix string, settings Settings) (*bucket, error) {
	address, err := url.Parse(cmp.Or(settings.S3Endpoint, "https://s3.amazonaws.com"))
	if err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http" || strings.Trim(address.Path, "/") != "" || address.User != nil {
		return nil, errors.New("ARCHIVE_S3_ENDPOINT is not https://host or https://host:port")
	}
	transport := &slowTransport{Transport: http.DefaultTransport.(*http.Transport).Clone(), logger: settings.Logger}
	transport.DisableCompression = true // ranges are of the stored bytes
	client, err := minio.New(address.Host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.EnvMinio{}, &credentials.FileAWSCredentials{},
			&credentials.IAM{Client: &http.Client{Transport: transport, Timeout: requestTimeout}},
		}),
		Secure: address.Scheme == "https", Transport: transport, MaxRetries: storeTries,
		Region: cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
	})
	if err != nil {
		return nil, fmt.Errorf("use s3://%s: %w", name, err)
	}
	if prefix != "" {
		prefix += "/"
	}
	return &bucket{client: client, transport: transport, name: name, prefix: prefix}, nil
}

// String implements Place.
func (b *bucket) String() string { return "s3://" + b.name + "/" + b.prefix }

// CloseIdleConnections closes the connections that no request uses. Only tests call it.
func (b *bucket) CloseIdleConnections() { b.transport.CloseIdleConnections() }

// List implements Place.
func (b *bucket) List(ctx context.Context, folder string) (out []string, err error) {
	prefix := b.prefix
	if folder != "" {
		prefix += folder + "/"
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	for object := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: prefix}) {
		if object.Err != nil {
			return nil, fmt.Errorf("list %s: %w", b, object.Err)
		}
		key, below := strings.CutPrefix(object.Key, prefix)
		if !below {
			return nil, fmt.Errorf("list %s: the store answers with %q, which is elsewhere", b, object.Key)
		}
		if name, isFolder := strings.CutSuffix(key, "/"); isFolder == (folder == "") && name != "" {
			out = append(out, name)
		}
	}
	return out, ctx.Err()
}

const spoolPrefix = "payfold-archive-"

// Create implements Place. The bytes go into a file without a name first: the length of an
// object must be known before it is sent.
func (b *bucket) Create(ctx context.Context, name string, write func(io.Writer) error) (err error) {
	defer func() { nameInstead(err, spoolPrefix, os.TempDir()) }()
	spool, err := os.CreateTemp("", spoolPrefix+"*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, spool.Close()) }()
	if err := os.Remove(spool.Name()); err != nil {
		return err
	}
	if err := write(spool); err != nil {
		return err
	}
	size, err := spool.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = spool.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	// One request: a store need not check the condition when it joins the parts of a multipart
	// upload.
	options := minio.PutObjectOptions{ContentType: "application/zstd", DisableMultipart: true}
	options.SetMatchETagExcept("*") // If-None-Match: *
	_, err = b.client.PutObject(ctx, b.name, b.prefix+name, spool, size, options)
	switch code := minio.ToErrorResponse(err).Code; {
	case err == nil:
		return nil
	case code == minio.PreconditionFailed:
		return ErrExists
	default:
		return fmt.Errorf("write %s%s: %w", b, name, err)
	}
}

// Open implements Place.
func (b *bucket) Open(ctx context.Context, name string) (Object, error) {
	asking, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	info, err := b.client.StatObject(asking, b.name, b.prefix+name, minio.StatObjectOptions{})
	if err == nil && info.Size < 0 {
		err = errors.New("the store does not say how long it is")
	}
	if err != nil {
		return nil, b.readError(name, err)
	}
	return &storedObject{bucket: b, ctx: ctx, name: name, size: info.Size}, nil
}

func (b *bucket) readError(name string, err error) error {
	if minio.ToErrorResponse(err).StatusCode == http.StatusNotFound {
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return fmt.Errorf("read %s%s: %w", b, name, err)
}

// Sync implements Place. The store answers only when an object is durable.
func (b *bucket) Sync(context.Context, string, ...string) error { return nil }

// Remove implements Place.
func (b *bucket) Remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := b.client.RemoveObject(ctx, b.name, b.prefix+name, minio.RemoveObjectOptions{})
	if err != nil && minio.ToErrorResponse(err).StatusCode != http.StatusNotFound {
		return fmt.Errorf("remove %s%s: %w", b, name, err)
	}
	return nil
}

// storedObject is an object that is read in ranges.
type storedObject struct {
	*bucket
	ctx  context.Context
	name string
	size int64
}

func (o *storedObject) Size() int64 { return o.size }

func (o *storedObject) Close() error { return nil }

// ReadAt implements io.ReaderAt with one request.
func (o *storedObject) ReadAt(data []byte, offset int64) (n int, err error) {
	if len(data) == 0 {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(o.ctx, transferTimeout)
	defer cancel()
	var options minio.GetObjectOptions
	if err := options.SetRange(offset, offset+int64(len(data))-1); err != nil {
		return 0, err
	}
	body, _, _, err := minio.Core{Client: o.client}.GetObject(ctx, o.bucket.name, o.prefix+o.name, options)
	if err != nil {
		return 0, o.readError(o.name, err)
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	return io.ReadFull(body, data)
}
