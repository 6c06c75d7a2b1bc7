package localpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/payfold/payfold/internal/durable"
)

// ensureCluster creates the cluster if it does not exist. It creates it under another name
// and renames it at the end, so an existing cluster is always complete.
func ensureCluster(ctx context.Context, at site, fsync bool) error {
	home, staging := filepath.Dir(at.cluster), filepath.Join(filepath.Dir(at.cluster), "."+filepath.Base(at.cluster)+"-initdb")
	// A killed process may have left this folder. This process holds the lock, so no other
	// process uses it.
	if err := os.RemoveAll(staging); err != nil {
		return err
	}
	if _, err := os.Stat(at.cluster); err == nil {
		return checkVersion(at)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	defer os.RemoveAll(staging)
	if err := os.Mkdir(staging, 0o700); err != nil {
		return err
	}
	passwordFile, data := filepath.Join(staging, "password"), filepath.Join(staging, "data")
	if err := os.WriteFile(passwordFile, []byte(at.password+"\n"), 0o600); err != nil {
		return err
	}
	if err := errors.Join(at.account.give(passwordFile), at.account.give(staging)); err != nil {
		return err
	}
	if err := initialise(ctx, at, data, passwordFile, fsync); err != nil {
		return fmt.Errorf("initdb: %w", err)
	}
	if err := os.Rename(data, at.cluster); err != nil {
		return err
	}
	return durable.Sync(home)
}

func initialise(ctx context.Context, at site, data, passwordFile string, fsync bool) error {
	args := []string{
		"--pgdata=" + data, "--username=" + superuser, "--pwfile=" + passwordFile,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--data-checksums",
	}
	if !fsync {
		args = append(args, "--no-sync")
	}
	initdb := command(at.account, filepath.Join(at.binaries, "initdb"), args...)
	var output bytes.Buffer
	initdb.Stdout, initdb.Stderr = &output, &output
	initdb.WaitDelay = time.Second
	child, err := startChild(initdb, syscall.SIGKILL)
	if err != nil {
		return err
	}
	select {
	case err := <-child.ended:
		if err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(output.String()))
		}
		return nil
	case <-ctx.Done():
		// The child has its own process group, so this also kills the processes it started.
		_ = syscall.Kill(-child.process.Pid, syscall.SIGKILL)
		<-child.ended
		return ctx.Err()
	}
}

// checkVersion refuses a cluster that these binaries cannot open.
func checkVersion(at site) error {
	content, err := os.ReadFile(filepath.Join(at.cluster, "PG_VERSION"))
	if err != nil {
		return err
	}
	output, err := exec.Command(filepath.Join(at.binaries, "postgres"), "--version").Output()
	if err != nil {
		return fmt.Errorf("postgres --version: %w", err)
	}
	have := strings.TrimSpace(string(content))
	// "postgres (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)", "… 18beta1"
	_, version, _ := strings.Cut(string(output), "(PostgreSQL) ")
	rest, same := strings.CutPrefix(version, have)
	if same && (rest == "" || rest[0] < '0' || rest[0] > '9') {
		return nil
	}
	return fmt.Errorf("the cluster %s belongs to PostgreSQL %s, the binaries in %s are %q; set PG_BIN to the binaries of %s",
		at.cluster, have, at.binaries, strings.TrimSpace(version), have)
}

// postmaster returns the server's command. The settings are arguments and not in the
// cluster's files, so that a new build's settings apply to an old cluster.
func postmaster(at site, config Config) *exec.Cmd {
	settings := []string{
		"listen_addresses=", "port=" + port, "unix_socket_directories=" + at.sockets,
		"max_connections=100", "shared_buffers=64MB", // a developer's machine does other work too
		"timezone=UTC", "log_timezone=UTC", "cluster_name=payfold",
		"password_encryption=scram-sha-256", "logging_collector=off",
		// The server has no replicas, so rows of a new table need not be written to the WAL too.
		"wal_level=minimal", "max_wal_senders=0",
		// The planner overestimates new tables, and would compile short queries with LLVM.
		"jit=off",
	}
	if !config.Durable {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	args := []string{"-D", at.cluster}
	for _, setting := range append(settings, config.Settings...) {
		args = append(args, "-c", setting)
	}
	return command(at.account, filepath.Join(at.binaries, "postgres"), args...)
}
