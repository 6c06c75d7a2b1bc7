package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/payfold/payfold/internal/backoff"
)

// maxReaders bounds the connections of the socket; the server has the same bound for all
// together (package accounts).
const maxReaders = 256

// acceptInterval is the wait after a failed accept, for example without file descriptors.
const acceptInterval = time.Second

// GateConfig says whose socket it is, and to which server it leads.
type GateConfig struct {
	DataDir string
	Inside  func() (net.Conn, error) // connects to the server, inside this process
	Logger  *slog.Logger
}

// Gate accepts the connections of readers in other processes through the socket. It joins each connection with one
// inside the process, and closes both together.
type Gate struct {
	config GateConfig
	folder *private
	socket net.Listener

	running sync.WaitGroup
	closing context.Context
	end     context.CancelFunc
}

// OpenGate starts to accept connections. It replaces an existing socket, so the caller must
// hold the log's lock: then that socket belongs to no running process. The error is ErrNoSocket if there can be none.
func OpenGate(config GateConfig) (*Gate, error) {
	folder, err := makePrivate(config.DataDir)
	if err != nil {
		return nil, err
	}
	g := &Gate{config: config, folder: folder}
	if g.socket, err = folder.listen(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrNoSocket, err), folder.Close())
	}
	g.closing, g.end = context.WithCancel(context.Background())
	g.running.Go(func() { g.accept(g.socket) })
	return g, nil
}

// ErrNoSocket means that the file system of the data directory does not support sockets, or that its path is too long.
var ErrNoSocket = errors.New("no socket for readers")

// accept has at most maxReaders connections open at once. Further connections wait.
func (g *Gate) accept(listener net.Listener) {
	slots := make(chan struct{}, maxReaders)
	var fault backoff.Fault
	for {
		select {
		case slots <- struct{}{}:
		case <-g.closing.Done():
			return
		}
		conn, err := listener.Accept()
		switch {
		case err == nil:
			fault.Clear()
			g.running.Go(func() {
				g.join(conn)
				<-slots
			})
			continue
		case g.closing.Err() != nil:
			return
		}
		<-slots
		if fault.IsNew(err) {
			g.config.Logger.Warn("a reader of the log cannot connect", "error", err)
		}
		_ = backoff.Every(acceptInterval).Wait(g.closing)
	}
}

// join copies bytes in both directions until either end closes, or the gate does.
func (g *Gate) join(outside net.Conn) {
	inside, err := g.config.Inside()
	if err != nil { // the server is stopping
		outside.Close()
		return
	}
	end := func() {
		outside.Close()
		inside.Close()
	}
	defer context.AfterFunc(g.closing, end)()
	var ways sync.WaitGroup
	for _, way := range [][2]net.Conn{{inside, outside}, {outside, inside}} {
		ways.Go(func() {
			defer end()
			_, _ = io.Copy(way[0], way[1])
		})
	}
	ways.Wait()
}

// Close ends all connections and waits for them.
func (g *Gate) Close() {
	g.end()
	_ = g.socket.Close()
	g.running.Wait()
	_ = os.Remove(g.folder.name(socketName))
	_ = g.folder.Close()
}
