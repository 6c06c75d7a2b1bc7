package localpg

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A connection is tried often at first, as a start takes a fraction of a second.
const (
	firstTry   = 10 * time.Millisecond
	lastTry    = 500 * time.Millisecond
	tryTimeout = 5 * time.Second
)

func dsnPath(dir string) string { return filepath.Join(dir, "postgres.dsn") }

// DSN reads the connection string of the private Postgres in dir. It is a URI
// that psql and pgx accept as it is, and holds the password. Its error wraps
// fs.ErrNotExist while there is none yet. That there is one does not mean that
// the server is up.
func DSN(dir string) (string, error) {
	content, err := os.ReadFile(dsnPath(dir))
	if err != nil {
		return "", fmt.Errorf("connection string of the private postgres: %w", err)
	}
	return strings.TrimSpace(string(content)), nil
}

// Ready waits until the server accepts connections, whichever process owns it,
// and returns its connection string. It ends with ctx.
func (s *Server) Ready(ctx context.Context) (dsn string, err error) {
	err = retry(ctx, func() error {
		if dsn, err = DSN(s.dir); err != nil {
			return err
		}
		return connect(ctx, dsn, func(*pgx.Conn) error { return nil })
	}, func(error) bool { return true })
	if err != nil {
		return "", fmt.Errorf("wait for the private postgres (its log is %s): %w", filepath.Join(s.dir, "postgres.log"), err)
	}
	return dsn, nil
}

// publish waits for the server, makes the database if it is missing, and only
// then writes the connection string.
func (s *Server) publish(ctx context.Context, at site) error {
	err := retry(ctx, func() error {
		return connect(ctx, at.dsn("postgres"), func(conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "create database "+pgx.Identifier{database}.Sanitize())
			if sqlState(err) == "42P04" { // duplicate_database
				return nil
			}
			return err
		})
	}, func(err error) bool {
		// Class 28: the password file is not the cluster's.
		return !strings.HasPrefix(sqlState(err), "28")
	})
	if err != nil {
		return fmt.Errorf("open the new server: %w", err)
	}
	if err := writeFile(at.dsnFile, at.dsn(database)+"\n"); err != nil {
		return err
	}
	s.logger.InfoContext(ctx, "private postgres is ready", "cluster", at.cluster, "dsn_file", at.dsnFile)
	return nil
}

// dsn is the connection string for one database. search_path is not a key of a
// libpq URI, so it travels in options.
func (at site) dsn(name string) string {
	// libpq takes a "+" as it stands, so spaces would have to be %20; there are none.
	query := "host=" + url.QueryEscape(at.sockets) + "&port=" + port + "&options=-csearch_path%3Dportal"
	target := url.URL{Scheme: "postgres", User: url.UserPassword(superuser, at.password), Path: "/" + name, RawQuery: query}
	return target.String()
}

func connect(ctx context.Context, dsn string, use func(*pgx.Conn) error) error {
	connecting, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	conn, err := pgx.Connect(connecting, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return use(conn)
}

// retry calls attempt until it succeeds, its error is not temporary or ctx ends;
// then the error is both ctx's and the last attempt's.
func retry(ctx context.Context, attempt func() error, temporary func(error) bool) error {
	wait := firstTry
	for {
		err := attempt()
		if err == nil || !temporary(err) {
			return err
		}
		if ended := pause(ctx, wait); ended != nil {
			return errors.Join(ended, err)
		}
		wait = min(2*wait, lastTry)
	}
}

func sqlState(err error) string {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

// ensurePassword returns the password in the file, or makes one for a cluster
// that does not exist yet.
func ensurePassword(path, cluster string) (string, error) {
	content, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(content)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if _, err := os.Stat(cluster); err == nil {
		return "", fmt.Errorf("the cluster %s is there but its password %s is not", cluster, path)
	}
	password := rand.Text()
	return password, writeFile(path, password+"\n")
}
