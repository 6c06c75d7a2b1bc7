package access

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/payfold/payfold/internal/backoff"
)

// maxReaders bounds the connections of each listener; the server has the same bound for all
// together (package accounts).
const maxReaders = 256

func addressFile(dataDir string) string { return filepath.Join(dataDir, "nats.addr") }

const (
	// handshakeTimeout ends a connection that does not finish its TLS handshake.
	handshakeTimeout = 5 * time.Second

	// acceptInterval is the wait after a failed accept, for example without file descriptors.
	acceptInterval = time.Second
)

// GateConfig says where readers connect, and to which server.
type GateConfig struct {
	DataDir string
	Address string                   // of a TCP listener in addition to the socket; empty for none
	Inside  func() (net.Conn, error) // connects to the server, inside this process
	Logger  *slog.Logger
}

// Gate accepts the connections of readers in other processes. The server itself does not
// listen: the gate joins each connection with one inside the process, and closes both
// together.
type Gate struct {
	config    GateConfig
	folder    *private
	listeners []net.Listener
	address   string // of the TCP listener; empty if there is none

	running sync.WaitGroup
	closing context.Context
	end     context.CancelFunc
}

// OpenGate starts to accept connections. It replaces an existing socket, so the caller must
// hold the log's lock: then that socket belongs to no running process.
func OpenGate(config GateConfig) (*Gate, error) {
	folder, err := makePrivate(config.DataDir)
	if err != nil {
		return nil, err
	}
	g := &Gate{config: config, folder: folder}
	g.closing, g.end = context.WithCancel(context.Background())
	if err := g.listen(); err != nil {
		g.Close()
		return nil, err
	}
	for _, listener := range g.listeners {
		g.running.Go(func() { g.accept(listener) })
	}
	return g, nil
}

func (g *Gate) listen() error {
	socket, err := g.folder.listen()
	switch {
	case err == nil:
		g.listeners = append(g.listeners, socket)
	case g.config.Address == "":
		return fmt.Errorf("%w; if the file system of DATA_DIR does not support sockets, or its path is too long for one, "+
			"set EMBEDDED_NATS_ADDR", err)
	default:
		g.config.Logger.Warn("readers reach the log over TCP only", "error", err)
	}
	if g.config.Address == "" {
		err := os.Remove(addressFile(g.config.DataDir)) // an earlier start had one
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	certificate, err := g.folder.certificate(g.config.Logger)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", g.config.Address)
	if err != nil {
		return fmt.Errorf("EMBEDDED_NATS_ADDR: listen for readers of the log: %w", err)
	}
	g.listeners = append(g.listeners, tls.NewListener(listener, &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate},
	}))
	g.address = listener.Addr().String()
	return writeFile(addressFile(g.config.DataDir), g.address)
}

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
	transport := outside
	if secured, ok := outside.(*tls.Conn); ok {
		transport = secured.NetConn() // closing TLS in order may take seconds
		ctx, cancel := context.WithTimeout(g.closing, handshakeTimeout)
		defer cancel()
		if err := secured.HandshakeContext(ctx); err != nil {
			transport.Close()
			return
		}
	}
	inside, err := g.config.Inside()
	if err != nil { // the server is stopping
		transport.Close()
		return
	}
	end := func() {
		transport.Close()
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

// Address is the address of the TCP listener; empty if there is none.
func (g *Gate) Address() string { return g.address }

// Close ends all connections and waits for them.
func (g *Gate) Close() {
	g.end()
	for _, listener := range g.listeners {
		_ = listener.Close()
	}
	g.running.Wait()
	_ = os.Remove(g.folder.name(socketName))
	_ = g.folder.Close()
}
