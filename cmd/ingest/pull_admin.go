package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/payfold/payfold/internal/providerapi"
	"github.com/payfold/payfold/internal/pull"
	"github.com/payfold/payfold/internal/telemetry"
)

// pullLine is one line of the answer to POST /pull: after each page, when something is waited for, and at the end.
type pullLine struct {
	pull.Result
	Waiting string `json:"waiting,omitempty"` // what for; then the line has no result
	Done    bool   `json:"done"`
	Error   string `json:"error,omitempty"`
}

// servePull pulls for ingest pull: POST /pull?provider=NAME&since=TIME. It ends with the request.
func (s *state) servePull(w http.ResponseWriter, r *http.Request) {
	parts, name := s.parts.Load(), r.FormValue("provider")
	if parts == nil {
		http.Error(w, "the log is not open yet", http.StatusServiceUnavailable)
		return
	}
	puller := parts.pullers[name]
	if puller == nil {
		http.Error(w, fmt.Sprintf("the running ingest has no API key of %q: set it, and restart ingest", name), http.StatusNotFound)
		return
	}
	since, err := parseSince(r.FormValue("since"), time.Now())
	if err != nil {
		http.Error(w, "since: "+err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/jsonl")
	control := http.NewResponseController(w)
	var writing sync.Mutex
	write := func(line pullLine) {
		writing.Lock()
		defer writing.Unlock()
		_ = json.NewEncoder(w).Encode(line) // fails if the operator has closed the connection; then the context ends
		_ = control.Flush()
	}
	ctx := providerapi.Watch(r.Context(), patience, func(what string) { write(pullLine{Waiting: what}) })
	result, err := puller.Pull(ctx, since, func(result pull.Result) { write(pullLine{Result: result}) })
	last := pullLine{Result: result, Done: true}
	if err != nil {
		last.Error = err.Error()
	}
	write(last)
}

// askToPull lets the ingest pull that serves its state at addr. The error wraps telemetry.ErrUnanswered if none runs.
func askToPull(ctx context.Context, addr, provider string, since time.Time, show *pullProgress) (pull.Result, error) {
	query := url.Values{"provider": {provider}}
	if !since.IsZero() {
		query.Set("since", since.Format(time.RFC3339))
	}
	answer, err := telemetry.Post(ctx, addr, "/pull?"+query.Encode())
	if err != nil {
		return pull.Result{}, err
	}
	defer answer.Close()
	for lines := json.NewDecoder(answer); ; {
		var line pullLine
		switch err := lines.Decode(&line); {
		case err != nil:
			return line.Result, fmt.Errorf("ingest has ended before the pull: %w", err)
		case line.Error != "":
			return line.Result, errors.New(line.Error)
		case line.Done:
			return line.Result, nil
		case line.Waiting != "":
			show.waiting(line.Waiting)
			continue
		}
		show.page(line.Result)
	}
}
