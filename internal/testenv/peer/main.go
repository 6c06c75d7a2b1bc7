// Command peer runs the servers that the benchmark compares with ingest: a handler that
// inserts into Postgres, and ingest's handler without a log, with one fsync for each
// delivery, or with a slower disk.
package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/specification"
	"github.com/payfold/payfold/internal/webhook"
)

func main() {
	database := flag.String("database", "", "store deliveries in this Postgres")
	secret := flag.String("secret", "", "the signing secret")
	var l logFlags
	flag.StringVar(&l.dir, "log", "", "store deliveries in a log in this folder")
	flag.StringVar(&l.sync, "sync", "group", "group: as ingest does; always: one fsync for each delivery")
	flag.DurationVar(&l.slower, "slower", 0, "time added to each fsync")
	flag.Parse()
	if err := run(*database, *secret, l); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(database, secret string, l logFlags) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server, err := newServer(database, secret, l)
	if err != nil {
		return err
	}
	fmt.Printf("msg=\"receiving deliveries\" listen_addr=%s\n", listener.Addr())
	if database == "" {
		listener = webhook.Listen(listener, 4096, prometheus.NewRegistry())
	}
	return server.Serve(listener)
}

func newServer(database, secret string, l logFlags) (*http.Server, error) {
	switch {
	case database != "":
		return intoPostgres(database, secret)
	case l.dir != "":
		log, err := l.open()
		return withHandler(secret, log), err
	}
	return withHandler(secret, discard{}), nil
}

// appender stores deliveries.
type appender interface {
	Append(ctx context.Context, d events.Delivery) (duplicate bool, err error)
}

// discard stores nothing.
type discard struct{}

func (discard) Append(context.Context, events.Delivery) (bool, error) { return false, nil }

func withHandler(secret string, log appender) *http.Server {
	logger := slog.New(slog.DiscardHandler)
	return webhook.NewServer(webhook.New(webhook.Config{
		Secrets: specification.Secrets(secret), MaxBodyBytes: 512 << 10, MaxInFlight: 1024,
		PublishTimeout: 4500 * time.Millisecond, Logger: logger, Registerer: prometheus.NewRegistry(),
	}, log), logger)
}

func intoPostgres(database, secret string) (*http.Server, error) {
	pool, err := pgxpool.New(context.Background(), database)
	if err != nil {
		return nil, err
	}
	_, err = pool.Exec(context.Background(), `drop table if exists public.delivery; create table public.delivery (
		event_id text primary key, body bytea not null, signature text not null, received_at timestamptz not null default now())`)
	if err != nil {
		return nil, err
	}
	return &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, answer := receive(r, pool, secret); status == http.StatusOK {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(answer)
		} else {
			http.Error(w, http.StatusText(status), status)
		}
	})}, nil
}

var errNoID = errors.New("no id")

func receive(r *http.Request, pool *pgxpool.Pool, secret string) (int, map[string]string) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, 512<<10))
	if err != nil {
		return http.StatusBadRequest, nil
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	signature := r.Header.Get(specification.SignatureHeader)
	if sent, err := hex.DecodeString(signature); err != nil || !hmac.Equal(sent, mac.Sum(nil)) {
		return http.StatusUnauthorized, nil
	}
	id, err := readID(body)
	if err != nil {
		return http.StatusBadRequest, nil
	}
	tag, err := pool.Exec(r.Context(),
		"insert into public.delivery (event_id, body, signature) values ($1, $2, $3) on conflict do nothing", id, body, signature)
	if err != nil {
		return http.StatusServiceUnavailable, nil
	}
	status := "accepted"
	if tag.RowsAffected() == 0 {
		status = "duplicate"
	}
	return http.StatusOK, map[string]string{"status": status, "id": id}
}

func readID(body []byte) (string, error) {
	var event struct {
		ID        string          `json:"id"`
		EventType string          `json:"eventType"`
		Object    json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return "", err
	}
	if event.ID == "" {
		return "", errNoID
	}
	return event.ID, nil
}
