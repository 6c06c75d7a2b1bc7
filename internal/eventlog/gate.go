package eventlog

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
)

// maxReaders bounds the connections of each listener; accounts.conf has the same bound for
// all together.
const maxReaders = 256

const (
	// handshakeTimeout ends a connection that does not finish its TLS handshake.
	handshakeTimeout = 5 * time.Second

	// acceptInterval is the wait after a failed accept, for example without file descriptors.
	acceptInterval = time.Second
)

// gate accepts the connections of readers in other processes. The server itself does not
// listen: the gate joins each connection with one inside the process, and closes both
// together.
//
//	reader ──▶ socket in the private folder ─────────┐
//	reader ──▶ TLS over TCP, where it is asked for ──┴──▶ InProcessConn
type gate struct {
	inside    func() (net.Conn, error)
	logger    *slog.Logger
	folder    *private
	listeners []net.Listener
	address   string // of the TCP listener; empty if there is none

	running sync.WaitGroup
	closing context.Context
	end     context.CancelFunc
}

// openGate starts to accept connections. The caller must hold the log's lock, so that an
// existing socket belongs to no running process.
func openGate(config EmbeddedConfig, inside func() (net.Conn, error)) (*gate, error) {
	folder, err := makePrivate(config.DataDir)
	if err != nil {
		return nil, err
	}
	g := &gate{inside: inside, logger: config.Logger, folder: folder}
	g.closing, g.end = context.WithCancel(context.Background())
	if err := g.listen(config); err != nil {
		g.close()
		return nil, err
	}
	for _, listener := range g.listeners {
		g.running.Go(func() { g.accept(listener) })
	}
	return g, nil
}

func (g *gate) listen(config EmbeddedConfig) error {
	socket, err := g.folder.listen()
	switch {
	case err == nil:
		g.listeners = append(g.listeners, socket)
	case config.Address == "":
		return fmt.Errorf("%w; if the file system of DATA_DIR does not support sockets, set EMBEDDED_NATS_ADDR", err)
	default:
		g.logger.Warn("readers reach the log over TCP only", "error", err)
	}
	if config.Address == "" {
		err := os.Remove(addressFile(config.DataDir)) // an earlier start had one
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	certificate, err := g.folder.certificate(config.Logger)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", config.Address)
	if err != nil {
		return fmt.Errorf("embedded NATS address: %w", err)
	}
	g.listeners = append(g.listeners, tls.NewListener(listener, &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate},
	}))
	g.address = listener.Addr().String()
	return writeFile(addressFile(config.DataDir), g.address)
}

// listen creates the socket. It replaces one that a killed ingest has left.
func (p *private) listen() (*net.UnixListener, error) {
	path, release, err := p.socketPath()
	if err != nil {
		return nil, err
	}
	defer release()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket in %s: %w", p.path, err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", filepath.Join(p.path, socketName), cause(err))
	}
	listener.SetUnlinkOnClose(false) // by then the path may name another file
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// accept has at most maxReaders connections open at once; further ones wait.
func (g *gate) accept(listener net.Listener) {
	slots := make(chan struct{}, maxReaders)
	for {
		select {
		case slots <- struct{}{}:
		case <-g.closing.Done():
			return
		}
		conn, err := listener.Accept()
		switch {
		case err == nil:
			g.running.Go(func() {
				g.join(conn)
				<-slots
			})
			continue
		case g.closing.Err() != nil:
			return
		}
		<-slots
		g.logger.Warn("a reader of the log cannot connect", "error", err)
		select {
		case <-g.closing.Done():
		case <-time.After(acceptInterval):
		}
	}
}

// join copies bytes in both directions until either end closes, or the gate does.
func (g *gate) join(outside net.Conn) {
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
	inside, err := g.inside()
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

// close ends all connections and waits for them.
func (g *gate) close() {
	g.end()
	for _, listener := range g.listeners {
		_ = listener.Close()
	}
	g.running.Wait()
	_ = os.Remove(g.folder.name(socketName))
	_ = g.folder.Close()
}
