package main

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/report/logreport"
	"github.com/payfold/payfold/internal/telemetry"
	"github.com/payfold/payfold/internal/webhook"
)

// state tells operators how this ingest is. It has no parts until the log is open.
type state struct {
	readiness *telemetry.Readiness
	startedAt time.Time
	parts     atomic.Pointer[parts]
}

type parts struct {
	log      *eventlog.Log
	handler  *webhook.Handler
	archiver *archive.Archiver  // nil if there is no archive
	scrubber *eventlog.Scrubber // nil if the log is not scrubbed
	pullers  pullers
}

func newState() *state {
	return &state{readiness: telemetry.NewReadiness(), startedAt: time.Now().UTC()}
}

// stateTimeout bounds the questions to the log; ingest status waits a little longer.
const stateTimeout = 2 * time.Second

func (s *state) read(ctx context.Context) logreport.Ingest {
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	out := logreport.Ingest{Version: cli.Build().Version, StartedAt: s.startedAt, Answers: []webhook.Minute{}}
	if err := s.readiness.Ready(ctx); err != nil {
		out.NotReady = err.Error()
	}
	parts := s.parts.Load()
	if parts != nil {
		if info, err := parts.log.Info(ctx); err == nil {
			out.Log = logreport.ServerLogOf(info)
		}
		if parts.scrubber != nil {
			out.Damage = parts.scrubber.Damage()
		}
		if parts.archiver != nil {
			archived := parts.archiver.State()
			out.Archive = &archived
		}
	}
	out.At = time.Now().UTC()
	if parts != nil {
		out.Answers = parts.handler.Recent(out.At)
		out.GivesUp, out.GivesUpSigned = parts.handler.GivesUp(out.At, false), parts.handler.GivesUp(out.At, true)
		out.RefusesSignatures = parts.handler.RefusesSignatures(out.At)
	}
	return out
}

// ServeHTTP answers with the state as JSON.
func (s *state) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = s.read(r.Context()).Write(w, true) // fails if the operator has closed the connection
}
