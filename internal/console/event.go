package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/store"
)

// eventPage is an event with its message in the log. In JSON it is the event alone.
type eventPage struct {
	explain.Event
	Message arrived `json:"-"`
}

// arrived is what the log has of an event.
type arrived struct {
	Fault     string // why the log cannot tell; empty if it can
	Seq       uint64
	Bytes     int
	Partition int
	Body      []string // the lines of the body, indented; empty if it is masked
	Signature string   // what checking the signature again found
	Wrong     bool     // the console has the secret of the signature's key, and the signature is wrong
}

func (c *Console) event(r *http.Request, asked query, tables *store.Store) (view, error) {
	found, err := explain.ReadEvent(r.Context(), c.Log, tables, r.PathValue("id"), asked.limit)
	if err != nil {
		return view{}, err
	}
	if found.ShopsReason != "" && !c.ShowPersonalData {
		found.ShopsReason = masked
	}
	if q := found.Quarantined; q != nil {
		masked := []status.Quarantined{*q}
		c.hidePersonalData(masked)
		found.Quarantined = &masked[0]
	}
	e := found.Event
	shown := eventPage{found, c.arrived(r.Context(), found.LogID, uint64(e.StreamSeq))}
	return view{"event.html", "Event " + page.Clean(e.EventID), browse.Moment{At: found.At, Schema: tables.Schema()}, shown, nil}, nil
}

var errNoLog = errors.New("the log cannot be read")

// message reads a message of the log logID. Its errors are errNoLog.
func (c *Console) message(ctx context.Context, logID string, seq uint64) (message events.Message, err error) {
	if message, err = explain.MessageOf(ctx, c.Log, logID, seq); err != nil {
		return message, fmt.Errorf("%w: %w", errNoLog, err)
	}
	return message, nil
}

func (c *Console) arrived(ctx context.Context, logID string, seq uint64) arrived {
	message, err := c.message(ctx, logID, seq)
	if err != nil {
		return arrived{Seq: seq, Fault: sentence(err)}
	}
	out := arrived{Seq: seq, Bytes: len(message.Body), Partition: message.Partition}
	out.Signature, out.Wrong = c.checkSignature(message)
	if c.ShowPersonalData {
		out.Body = indented(message.Body)
	}
	return out
}

// checkSignature checks the signature of a message now, with the secrets that the console has.
func (c *Console) checkSignature(m events.Message) (said string, wrong bool) {
	if m.Lost() {
		return "This message stands for one that was lost; it has no signature.", false
	}
	switch err := c.Secrets.Check(m); {
	case err == nil:
		return "The signature was checked just now: it is that of this body.", false
	case !errors.Is(err, providers.ErrUnknownKey):
		return "The signature was checked just now: it is NOT that of this body. Run projector verify.", true
	}
	return "The signature cannot be checked here: the console does not have the secret with the fingerprint " + page.Clean(m.KeyFingerprint) + ".", false
}

// maxShownBody bounds what a page shows of a body.
const maxShownBody = 256 << 10

// indented returns a body in indented lines. It changes neither numbers nor texts, and keeps repeated
// keys and the order of keys. A body that is not JSON is only split at its line breaks.
func indented(body []byte) (lines []string) {
	var out bytes.Buffer
	if json.Indent(&out, body, "", "  ") != nil {
		out.Reset()
		out.Write(body)
	}
	text := out.Bytes()
	if len(text) > maxShownBody {
		text = append(text[:maxShownBody:maxShownBody], "\n… the rest is in the download"...)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		lines = append(lines, page.Clean(line))
	}
	return lines
}

// body serves the exact bytes of an event's body. A browser saves them, and shows nothing.
func (c *Console) body(w http.ResponseWriter, r *http.Request) {
	if !c.ShowPersonalData {
		http.Error(w, "Bodies are not shown: CONSOLE_SHOW_PERSONAL_DATA is not true.", http.StatusForbidden)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
	defer cancel()
	var tables *store.Store
	var found explain.Event
	var message events.Message
	asked, err := c.queryOf(r, chosen("id"))
	if err == nil {
		tables, err = c.tablesOf(ctx, asked.schema)
	}
	if err == nil {
		found, err = explain.ReadEvent(ctx, c.Log, tables, r.PathValue("id"), 1)
	}
	if err == nil {
		message, err = c.message(ctx, found.LogID, uint64(found.Event.StreamSeq))
	}
	if err != nil {
		c.refuse(w, r, asked, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fmt.Sprintf("event-%d.json", message.Seq)}))
	w.Header().Set("Content-Length", strconv.Itoa(len(message.Body)))
	_, _ = w.Write(message.Body)
}
