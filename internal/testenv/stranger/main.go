// Command stranger attacks ingest without knowing a secret. It opens connections, and opens
// each of them again when it ends.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

const (
	smallSize = 1500
	largeSize = 500 << 10
)

// head has a well-formed signature, so that ingest has to compare it.
var head = "POST /api/payments/provider/webhook HTTP/1.1\r\nHost: payfold\r\nContent-Type: application/json\r\n" +
	"Provider-Signature: " + strings.Repeat("0", 64) + "\r\n"

// post returns a request that announces more bytes than it has, or as many. Requests are
// made once, so that the attack itself costs little.
func post(announced, bytes int) string {
	return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, announced, strings.Repeat("x", bytes))
}

var (
	small    = post(smallSize, smallSize)
	large    = post(largeSize, largeSize)
	heldBack = post(largeSize+1, largeSize)
	half     = post(largeSize, largeSize/2)
)

// attacks use a connection. After the attack the stranger keeps the connection open until
// ingest closes it.
var attacks = map[string]func(net.Conn) error{
	"silent":  func(net.Conn) error { return nil },
	"refused": func(conn net.Conn) error { return send(conn, small) },
	"unsigned": func(conn net.Conn) error { // many requests on one connection
		answer := make([]byte, 4<<10)
		for {
			if err := send(conn, small); err != nil {
				return err
			}
			if _, err := conn.Read(answer); err != nil {
				return err
			}
		}
	},
	"slow header": func(conn net.Conn) error {
		if err := send(conn, head+"X: "); err != nil {
			return err
		}
		return trickle(conn, 1)
	},
	"held-back body": func(conn net.Conn) error { return send(conn, heldBack) },
	"slow body": func(conn net.Conn) error {
		if err := send(conn, half); err != nil {
			return err
		}
		return trickle(conn, 1<<10)
	},
	"large bodies": func(conn net.Conn) error { return send(conn, large) },
}

// trickle sends size bytes ten times a second.
func trickle(conn net.Conn, size int) error {
	for {
		if err := send(conn, strings.Repeat("x", size)); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func send(conn net.Conn, text string) error {
	_, err := io.WriteString(conn, text)
	return err
}

func main() {
	address := flag.String("address", "", "of ingest")
	attack := flag.String("attack", "", "name of the attack")
	connections := flag.Int("connections", 100, "number of connections")
	rate := flag.Int("rate", 2000, "maximum of new connections a second")
	flag.Parse()
	act := attacks[*attack]
	if act == nil {
		fmt.Fprintln(os.Stderr, "no such attack:", *attack)
		os.Exit(2)
	}
	s := &stranger{address: *address, act: act, wanted: int64(*connections), permits: make(chan struct{})}
	for range *connections {
		go s.visit(context.Background())
		s.permits <- struct{}{} // no rate limit for the first ones
	}
	batch := max(1, *rate/1000)
	for range time.Tick(time.Second * time.Duration(batch) / time.Duration(*rate)) {
		for range batch {
			s.permits <- struct{}{}
		}
	}
}

type stranger struct {
	address string
	act     func(net.Conn) error
	wanted  int64
	opened  atomic.Int64
	permits chan struct{}
}

// visit opens a connection, again after each end.
func (s *stranger) visit(ctx context.Context) {
	var dialer net.Dialer
	opened := false
	for {
		<-s.permits
		conn, err := dialer.DialContext(ctx, "tcp", s.address)
		if err != nil {
			continue // evicted at once
		}
		if !opened && s.opened.Add(1) == s.wanted {
			fmt.Println("msg=attacking")
		}
		opened = true
		if s.act(conn) == nil {
			_, _ = io.Copy(io.Discard, conn)
		}
		_ = conn.Close()
	}
}
