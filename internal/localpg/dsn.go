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

	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/durable"
	"github.com/payfold/payfold/internal/sqlstate"
)

// The first attempts to connect follow quickly, because a start takes a fraction of a second.
const (
	minConnectInterval = 10 * time.Millisecond
	maxConnectInterval = 500 * time.Millisecond
	connectTimeout     = 5 * time.Second
)

func dsnPath(dir string) string { return filepath.Join(dir, "postgres.dsn") }

// DSN reads the connection string of the private Postgres in dir. It is a URI for psql and
// pgx, and contains the password. The error wraps fs.ErrNotExist if there is none yet. The
// server may be stopped although there is a connection string.
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
		if dsn, err = DSN(s.config.Dir); err != nil {
			return err
		}
		return connect(ctx, dsn, func(*pgx.Conn) error { return nil })
	}, func(error) bool { return true })
	if err != nil {
		return "", fmt.Errorf("wait for the private postgres (its log is %s): %w", filepath.Join(s.config.Dir, "postgres.log"), err)
	}
	return dsn, nil
}

// publish waits for the server, creates the database if it is missing, and then writes the
// connection string.
func (s *Server) publish(ctx context.Context, at site) error {
	err := retry(ctx, func() error {
		return connect(ctx, at.dsn("postgres"), func(conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "create database "+pgx.Identifier{database}.Sanitize())
			if sqlstate.Of(err) == "42P04" { // duplicate_database
				return nil
			}
			return err
		})
	}, func(err error) bool {
		// Class 28 means that the password file does not belong to this cluster.
		return !strings.HasPrefix(sqlstate.Of(err), "28")
	})
	if err != nil {
		return fmt.Errorf("open the new server: %w", err)
	}
	if err := publishReader(ctx, at); err != nil {
		return err
	}
	if err := durable.Replace(at.dsnFile, at.dsn(database)+"\n"); err != nil {
		return err
	}
	s.config.Logger.InfoContext(ctx, "private postgres is ready", "cluster", at.cluster, "dsn_file", at.dsnFile)
	return nil
}

// dsn returns the connection string for one database. search_path is not a key of a libpq
// URI, so it is passed in options.
func (at site) dsn(name string) string { return at.dsnOf(superuser, at.password, name) }

func (at site) dsnOf(role, password, name string) string {
	// libpq does not decode "+", so a space would have to be %20. There are no spaces.
	query := "host=" + url.QueryEscape(at.sockets) + "&port=" + port + "&options=-csearch_path%3Dportal"
	target := url.URL{Scheme: "postgres", User: url.UserPassword(role, password), Path: "/" + name, RawQuery: query}
	return target.String()
}

func connect(ctx context.Context, dsn string, use func(*pgx.Conn) error) error {
	connecting, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pgx.Connect(connecting, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return use(conn)
}

// retry calls attempt until it succeeds, its error is not temporary, or ctx ends. If ctx
// ends, the error wraps that of ctx and that of the last attempt.
func retry(ctx context.Context, attempt func() error, temporary func(error) bool) error {
	wait := backoff.Backoff{Min: minConnectInterval, Max: maxConnectInterval}
	for {
		err := attempt()
		if err == nil || !temporary(err) {
			return err
		}
		if ended := wait.Wait(ctx); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

// ensurePassword returns the password in the file. It creates one if the cluster does not
// exist yet.
func ensurePassword(path, cluster string) (string, error) {
	content, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(content)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if _, err := os.Stat(cluster); err == nil {
		return "", fmt.Errorf("the cluster %s exists but its password file %s is missing", cluster, path)
	}
	password := rand.Text()
	return password, durable.Replace(path, password+"\n")
}
