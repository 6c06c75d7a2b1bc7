package connection_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog/connection"
)

func TestEachUserHasAnInboxOfItsOwn(t *testing.T) {
	t.Parallel()
	s := startServer(t, server.Options{})
	for _, c := range []struct{ given, urls, want string }{
		{"", "nats://ingest:x@a", "_INBOX.ingest."},
		{"", "tls://ingest:x@a:4222,tls://ingest:y@b:4222", "_INBOX.ingest."},
		{"MINE.a", "nats://ingest:x@a", "MINE.a."},
		{"", "nats://a", "_INBOX."},
		{"", "nats://secret-token@a", "_INBOX."},
		{"", "nats://in.gest:x@a", "_INBOX."},
		{"", "nats://*:x@a", "_INBOX."},
		{"", "nats://ingest:x@a,nats://projector:x@b", "_INBOX."},
		{"", "nats://ingest:x@a,nats://b", "_INBOX."},
	} {
		conn, _ := open(t, s, connection.Inbox(c.given, c.urls))
		rest, found := strings.CutPrefix(conn.NewInbox(), c.want)
		require.True(t, found, "%v: %s", c, conn.NewInbox())
		require.NotContains(t, rest, ".", "%v", c)
	}
}
