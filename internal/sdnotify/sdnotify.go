// Package sdnotify tells systemd the state of a program, as sd_notify(3) says. The states are how its start goes, that
// it is ready, that it stops, and why it failed. For each change it sends one datagram of lines NAME=value to
// the socket that the variable NOTIFY_SOCKET names. This takes one net.Dial, so the package uses no
// library.
package sdnotify

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/backoff"
)

const (
	askInterval = 200 * time.Millisecond
	askTimeout  = 2 * time.Second // as for /readyz
	// writeTimeout is longer than systemd takes to reload its units. While it does so, it does not listen.
	writeTimeout = 10 * time.Second
	// ExtendBy is how long a start may say nothing new before systemd ends it. The longest silence
	// is that of the log's server, which reads a log of 100 GB again after a kill.
	ExtendBy = 10 * time.Minute
	// maxStatus is in bytes. systemd reads 4096 of a datagram.
	maxStatus = 1024
)

// Run asks ready until it returns nil. Each new reason why the program is not ready yet becomes the
// status that systemctl shows, and gives the start ExtendBy more time. Then Run says that the
// program is ready and, when ctx ends, that it stops. If systemd does not listen, the first error
// is logged and Run returns. Without NOTIFY_SOCKET it does nothing.
func Run(ctx context.Context, ready func(context.Context) error, logger *slog.Logger) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	if err := follow(ctx, socket, ready); err != nil {
		logger.WarnContext(ctx, "cannot tell systemd the state of the program", "error", err)
	}
}

// Failed makes the error with which the program ends the status that systemctl shows. systemctl shows
// no log of a start that failed while the next one waits. The caller has printed the error, so Failed
// ignores that systemd does not listen. Without NOTIFY_SOCKET it does nothing.
func Failed(err error) {
	if socket := os.Getenv("NOTIFY_SOCKET"); socket != "" {
		_ = send(socket, "STATUS="+oneLine(err.Error()))
	}
}

func follow(ctx context.Context, socket string, ready func(context.Context) error) error {
	if err := awaitReady(ctx, socket, ready); err != nil {
		return err
	}
	if ctx.Err() == nil {
		if err := send(socket, "READY=1", "STATUS="); err != nil {
			return err
		}
		<-ctx.Done()
	}
	return send(socket, "STOPPING=1")
}

// awaitReady returns nil when the program is ready, and when ctx ends.
func awaitReady(ctx context.Context, socket string, ready func(context.Context) error) error {
	pause := backoff.Every(askInterval)
	for last := ""; ; {
		reason := ask(ctx, ready)
		if reason == nil || ctx.Err() != nil {
			return nil
		}
		if status := oneLine(reason.Error()); status != last {
			if err := send(socket, "STATUS="+status, fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", ExtendBy.Microseconds())); err != nil {
				return err
			}
			last = status
		}
		if pause.Wait(ctx) != nil {
			return nil
		}
	}
}

func ask(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return ready(ctx)
}

// oneLine returns text as the value of one line.
func oneLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r < ' ' })
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	text = strings.ReplaceAll(strings.Join(lines, "; "), ":; ", ": ")
	return strings.ToValidUTF8(text[:min(len(text), maxStatus)], "")
}

// send sends one datagram. A socket whose name begins with @ is in Linux's abstract name space.
func send(socket string, lines ...string) error {
	connection, err := net.Dial("unixgram", socket)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := connection.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err = connection.Write([]byte(strings.Join(lines, "\n")))
	return err
}
