package localpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const (
	// A postmaster that died may need a moment for its orphans to go: the first
	// retry is quick. One that cannot start at all must not fill its log.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 10 * time.Second
	// Whoever served this long was healthy: the next retry is quick again.
	healthyAfter = time.Minute
	// A fast shutdown ends with a checkpoint, which a slow disk can make long;
	// after this the server is told to stop without one and recovers next time.
	fastShutdown = time.Minute
)

// supervise runs one postmaster after another until ctx ends.
func (s *Server) supervise(ctx context.Context, at site) error {
	retry := firstRetry
	for {
		began := time.Now()
		err := s.serve(ctx, at)
		var fatal *fatalError
		if ctx.Err() != nil || errors.As(err, &fatal) {
			return err
		}
		if time.Since(began) > healthyAfter {
			retry = firstRetry
		}
		s.logger.WarnContext(ctx, "private postgres ended, starting it again",
			"error", err, "retry_in", retry, "log_file", at.logFile)
		if err := pause(ctx, retry); err != nil {
			return err
		}
		retry = min(2*retry, lastRetry)
	}
}

// serve runs one postmaster from start to end. It returns only when that
// process is gone; nil means that it was stopped because ctx ended.
func (s *Server) serve(ctx context.Context, at site) error {
	if err := awaitPredecessor(ctx, at); err != nil {
		return err
	}
	if err := ensureSocketFolder(at.sockets, at.account); err != nil {
		return &fatalError{err}
	}
	log, err := openLog(at.logFile)
	if err != nil {
		return &fatalError{err}
	}
	defer log.Close()
	command := postmaster(at, s.durable)
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
			s.logger.InfoContext(ctx, "private postgres stopped")
			return nil
		}
	}
}

// fatalError is one that the next start would meet again.
type fatalError struct{ error }

func (e *fatalError) Unwrap() error { return e.error }

func endedEarly(err error) error {
	if err == nil {
		return errors.New("postgres exited by itself")
	}
	return fmt.Errorf("postgres: %w", err)
}

// openLog opens the server's log for appending. The server inherits the open
// file, so its user need not reach the folder.
func openLog(path string) (*os.File, error) {
	// Nothing rotates this file; one that grew over years starts over.
	const most = 64 << 20
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if info, err := os.Stat(path); err == nil && info.Size() > most {
		flags |= os.O_TRUNC
	}
	return os.OpenFile(path, flags, 0o600)
}

// pause waits for d or for the end of ctx, whose error it returns.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
