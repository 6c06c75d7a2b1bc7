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
)

// The one role of a new cluster, and its database.
const (
	superuser = "payfold"
	database  = "payfold"
)

// ensureCluster makes the cluster unless it is there. It is made under another
// name and renamed when complete, so a cluster that exists is whole.
func ensureCluster(ctx context.Context, at site, durable bool) error {
	home, staging := filepath.Dir(at.cluster), filepath.Join(filepath.Dir(at.cluster), "."+filepath.Base(at.cluster)+"-initdb")
	// Left by a process that was killed; nobody else holds the lock.
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
	if err := initialise(ctx, at, data, passwordFile, durable); err != nil {
		return fmt.Errorf("initdb: %w", err)
	}
	if err := os.Rename(data, at.cluster); err != nil {
		return err
	}
	return syncFolder(home)
}

func initialise(ctx context.Context, at site, data, passwordFile string, durable bool) error {
	args := []string{
		"--pgdata=" + data, "--username=" + superuser, "--pwfile=" + passwordFile,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--data-checksums",
	}
	if !durable {
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
		// Its own group: this takes the backends it started as well.
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
	return fmt.Errorf("the cluster %s is of PostgreSQL %s, the binaries in %s are %q; set PG_BIN to those of %s",
		at.cluster, have, at.binaries, strings.TrimSpace(version), have)
}

// postmaster is the server's command. Its settings are given here, not in the
// cluster, so that a new build's apply to old clusters.
func postmaster(at site, durable bool) *exec.Cmd {
	settings := []string{
		"listen_addresses=", "port=" + port, "unix_socket_directories=" + at.sockets,
		"max_connections=100", "shared_buffers=64MB", // it shares a developer's machine
		"timezone=UTC", "log_timezone=UTC", "cluster_name=payfold",
		"password_encryption=scram-sha-256", "logging_collector=off",
		// It has no replicas: what fills a new table need not be written twice.
		"wal_level=minimal", "max_wal_senders=0",
		// The planner takes new tables for long ones and has LLVM compile what runs for a moment.
		"jit=off",
	}
	if !durable {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	args := []string{"-D", at.cluster}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return command(at.account, filepath.Join(at.binaries, "postgres"), args...)
}
