// Command stranger attacks ingest as somebody who has no secret can: with
// connections, each of which is opened again when it ends.
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

// head has a signature that is well-formed, so that it has to be compared.
var head = "POST /api/payments/provider/webhook HTTP/1.1\r\nHost: payfold\r\nContent-Type: application/json\r\n" +
	"Provider-Signature: " + strings.Repeat("0", 64) + "\r\n"

// post announces that many bytes and has fewer. It is made once: the attack shall cost
// its own side little.
func post(announced, bytes int) string {
	return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, announced, strings.Repeat("x", bytes))
}

var (
	small    = post(smallSize, smallSize)
	large    = post(largeSize, largeSize)
	heldBack = post(largeSize+1, largeSize)
	half     = post(largeSize, largeSize/2)
)

// attacks are what a stranger does with a connection, before it waits for its end.
var attacks = map[string]func(net.Conn) error{
	"silent":  func(net.Conn) error { return nil },
	"refused": func(conn net.Conn) error { return say(conn, small) }, // and keeps the connection
	"unsigned": func(conn net.Conn) error { // one after the other
		answer := make([]byte, 4<<10)
		for {
			if err := say(conn, small); err != nil {
				return err
			}
			if _, err := conn.Read(answer); err != nil {
				return err
			}
		}
	},
	"slow header": func(conn net.Conn) error {
		if err := say(conn, head+"X: "); err != nil {
			return err
		}
		return trickle(conn, 1)
	},
	"held-back body": func(conn net.Conn) error { return say(conn, heldBack) },
	"slow body": func(conn net.Conn) error {
		if err := say(conn, half); err != nil {
			return err
		}
		return trickle(conn, 1<<10)
	},
	"large bodies": func(conn net.Conn) error { return say(conn, large) },
}

// trickle says size bytes ten times a second.
func trickle(conn net.Conn, size int) error {
	for {
		if err := say(conn, strings.Repeat("x", size)); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func say(conn net.Conn, text string) error {
	_, err := io.WriteString(conn, text)
	return err
}

func main() {
	address := flag.String("address", "", "where ingest takes deliveries")
	attack := flag.String("attack", "", "one of the attacks")
	connections := flag.Int("connections", 100, "at once")
	rate := flag.Int("rate", 2000, "new connections a second, at most")
	flag.Parse()
	act := attacks[*attack]
	if act == nil {
		fmt.Fprintln(os.Stderr, "no such attack:", *attack)
		os.Exit(2)
	}
	s := &stranger{address: *address, act: act, wanted: int64(*connections), permits: make(chan struct{})}
	for range *connections {
		go s.visit(context.Background())
		s.permits <- struct{}{} // the first ones at once
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
	begun   atomic.Int64
	permits chan struct{}
}

// visit opens a connection again and again.
func (s *stranger) visit(ctx context.Context) {
	var dialer net.Dialer
	begun := false
	for {
		<-s.permits
		conn, err := dialer.DialContext(ctx, "tcp", s.address)
		if err != nil {
			continue // evicted as soon as it was there
		}
		if !begun && s.begun.Add(1) == s.wanted {
			fmt.Println("msg=attacking")
		}
		begun = true
		if s.act(conn) == nil {
			_, _ = io.Copy(io.Discard, conn)
		}
		_ = conn.Close()
	}
}
