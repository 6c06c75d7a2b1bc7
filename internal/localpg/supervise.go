package localpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/payfold/payfold/internal/backoff"
)

const (
	// The first retry is quick, because the processes of an earlier postmaster soon end, and Postgres refuses to start
	// before. Later ones are slow, so that a server that cannot start does not fill its log.
	minRetryInterval = 100 * time.Millisecond
	maxRetryInterval = 10 * time.Second
	// healthyAfter is how long a server must run so that the next retry is quick again.
	healthyAfter = time.Minute
)

// supervise runs one postmaster after another until ctx ends.
func (s *Server) supervise(ctx context.Context, at site) error {
	retry := backoff.Backoff{Min: minRetryInterval, Max: maxRetryInterval}
	for {
		began := time.Now()
		err := s.serve(ctx, at)
		var fatal *fatalError
		if ctx.Err() != nil || errors.As(err, &fatal) {
			return err
		}
		if time.Since(began) > healthyAfter {
			retry.Reset()
		}
		s.config.Logger.WarnContext(ctx, "private postgres ended, starting it again",
			"error", err, "retry_in", retry.Next(), "log_file", at.logFile)
		if err := retry.Wait(ctx); err != nil {
			return err
		}
	}
}

// serve runs one postmaster. It returns only after that process has ended; nil means that
// serve stopped it because ctx ended.
func (s *Server) serve(ctx context.Context, at site) error {
	if err := ensureSocketFolder(at.sockets, at.account); err != nil {
		return &fatalError{err}
	}
	log, err := openLog(at.logFile)
	if err != nil {
		return &fatalError{err}
	}
	defer log.Close()
	command := postmaster(at, s.config)
	command.Stdout, command.Stderr = log, log
	child, err := startChild(command, syscall.SIGINT)
	if err != nil {
		return fmt.Errorf("start postgres: %w", err)
	}

	publishing, cancel := context.WithCancel(ctx)
	defer cancel()
	published := make(chan error, 1)
	go func() { published <- s.publish(publishing, at) }()
	for {
		select {
		case err := <-child.ended:
			cancel()
			if published != nil {
				<-published
			}
			return endedEarly(err)
		case err := <-published:
			published = nil
			if err != nil && ctx.Err() == nil {
				child.stop()
				return &fatalError{err}
			}
		case <-ctx.Done():
			cancel()
			child.stop()
			if published != nil {
				<-published
			}
			s.config.Logger.InfoContext(ctx, "private postgres stopped")
			return nil
		}
	}
}

// fatalError is an error that would occur again at the next start.
type fatalError struct{ error }

func (e *fatalError) Unwrap() error { return e.error }

func endedEarly(err error) error {
	if err == nil {
		return errors.New("postgres exited by itself")
	}
	return fmt.Errorf("postgres: %w", err)
}

// openLog opens the server's log for appending. The server inherits the open file, so its
// user does not need access to the folder.
func openLog(path string) (*os.File, error) {
	// Nothing rotates this file, so a large one is truncated at a start.
	const maxSize = 64 << 20
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if info, err := os.Stat(path); err == nil && info.Size() > maxSize {
		flags |= os.O_TRUNC
	}
	return os.OpenFile(path, flags, 0o600)
}
