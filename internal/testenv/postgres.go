package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gofrs/flock"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/localpg"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// admin is the connection of a superuser to the server of this package.
var admin struct {
	sync.Mutex
	*pgx.Conn
	copying string // the clause with which it copies a database
}

var databases atomic.Int64

// templates are the databases that Copy copies, by the name of what is in them.
var templates = struct {
	sync.Mutex
	made map[string]string
}{made: map[string]string{}}

// RunWithPostgres is the body of a TestMain. It starts a private server for the package,
// runs the tests, stops the server and returns the exit code. Without PostgreSQL on the
// machine it fails and says what to install.
func RunWithPostgres(m interface{ Run() int }) int {
	dsn, stop, err := startPostgres()
	if err != nil {
		return fail(err)
	}
	defer stop()
	ctx := context.Background()
	ready, cancel := context.WithTimeout(ctx, wait.Timeout)
	defer cancel()
	if admin.Conn, err = pgx.Connect(ready, dsn); err != nil {
		return fail(err)
	}
	defer admin.Close(ctx)
	if err := errors.Join(makeLoginsQuick(ready), makeCopiesQuick(ready)); err != nil {
		return fail(err)
	}
	return m.Run()
}

// PrimaryPostgres starts a server for this test alone and returns its connection string. Its commits wait for a standby
// once synchronous_standby_names is set, and it can send its rows to subscribers.
func PrimaryPostgres(t testing.TB) string {
	t.Helper()
	dsn, stop, err := startPostgres("max_wal_senders=1", "wal_level=logical", "synchronous_commit=on")
	require.NoError(t, err)
	t.Cleanup(stop)
	return dsn
}

// startPostgres starts a private server with these settings. stop ends it and removes its files.
func startPostgres(settings ...string) (dsn string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "payfold-test-")
	if err != nil {
		return "", nil, err
	}
	if err := copyCluster(dir); err != nil {
		os.RemoveAll(dir)
		return "", nil, err
	}
	dsn, end, err := servePostgres(dir, settings...)
	if err != nil {
		os.RemoveAll(dir)
		return "", nil, err
	}
	return dsn, func() {
		end()
		os.RemoveAll(dir)
	}, nil
}

// copyCluster copies the cluster in the folder TEST_CLUSTER into dir, and makes it before if it does not exist. So one
// initdb is enough for all packages. Without TEST_CLUSTER each server makes its own.
func copyCluster(dir string) error {
	made := os.Getenv("TEST_CLUSTER")
	if made == "" {
		return nil
	}
	lock := flock.New(made + ".lock")
	if err := lock.Lock(); err != nil {
		return err
	}
	defer lock.Close()
	complete := filepath.Join(made, "complete")
	if _, err := os.Stat(complete); err != nil {
		if err := os.MkdirAll(made, 0o755); err != nil {
			return err
		}
		_, stop, err := servePostgres(made)
		if err != nil {
			return err
		}
		stop()
		if err := os.WriteFile(complete, nil, 0o600); err != nil {
			return err
		}
	}
	// cp -p keeps the owner: if the tests run as root, Postgres runs as another user.
	output, err := exec.Command("cp", "-Rp", filepath.Join(made, "postgres"), filepath.Join(made, "postgres.password"), dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("copy %s: %w: %s", made, err, output)
	}
	return nil
}

// servePostgres starts a server with the files in dir, which may be empty. stop ends it; the files stay.
func servePostgres(dir string, settings ...string) (dsn string, stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	ready, giveUp := context.WithTimeout(ctx, wait.Timeout)
	defer giveUp()
	server := localpg.New(localpg.Config{Dir: dir, Settings: settings})
	ended := make(chan struct{})
	stop = func() {
		cancel()
		<-ended
		if config, err := pgx.ParseConfig(dsn); err == nil && dsn != "" {
			os.RemoveAll(config.Host) // the server leaves the folder of its socket
		}
	}
	// If the tests run as root, Postgres runs as another user.
	err = os.Chmod(dir, 0o755)
	go func() {
		defer close(ended)
		if err := server.Run(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		giveUp()
	}()
	if err == nil {
		dsn, err = server.Ready(ready)
	}
	if err != nil {
		stop()
	}
	return dsn, stop, err
}

// makeCopiesQuick makes the server copy files, which PostgreSQL 14 always does. Without that, 15 and later write each
// page to the WAL and leave out the file in which the first connection to a database stores the catalogue.
func makeCopiesQuick(ctx context.Context) error {
	const clause = "select case when current_setting('server_version_num')::int >= 150000 then ' strategy file_copy' else '' end"
	if err := admin.QueryRow(ctx, clause).Scan(&admin.copying); err != nil {
		return err
	}
	config := admin.Config().Copy()
	config.Database = "template1"
	first, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	return first.Close(ctx)
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "start PostgreSQL for the tests:", err)
	return 1
}

// Database creates an empty database and returns its connection string. The end of the test
// drops it.
func Database(t testing.TB) string {
	t.Helper()
	return create(t, "template1")
}

// Copy is Database for a copy of what fill has made in an empty database. fill runs once for each name,
// and must leave no connection open.
func Copy(t testing.TB, name string, fill func(t testing.TB, dsn string)) string {
	t.Helper()
	return create(t, template(t, name, fill))
}

func template(t testing.TB, name string, fill func(t testing.TB, dsn string)) string {
	t.Helper()
	templates.Lock()
	defer templates.Unlock()
	if templates.made[name] == "" {
		database := fmt.Sprintf("template_%d", databases.Add(1))
		execute(t, "create database "+database)
		fill(t, dsnOf(database))
		templates.made[name] = database
	}
	return templates.made[name]
}

func create(t testing.TB, template string) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", databases.Add(1))
	execute(t, "create database "+name+" template "+template+admin.copying)
	t.Cleanup(func() { execute(t, "drop database "+name+" with (force)") })
	return dsnOf(name)
}

func dsnOf(database string) string {
	config := admin.Config()
	return fmt.Sprintf("host=%s port=%d user=%s password=%s dbname=%s options='-c search_path=portal'",
		config.Host, config.Port, config.User, config.Password, database)
}

func execute(t testing.TB, sql string) {
	t.Helper()
	require.NotNil(t, admin.Conn, "this package's TestMain must call testenv.RunWithPostgres")
	ctx, cancel := context.WithTimeout(context.Background(), wait.Timeout)
	defer cancel()
	admin.Lock()
	defer admin.Unlock()
	_, err := admin.Exec(ctx, sql)
	require.NoError(t, err)
}
