package appends

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Client publishes messages through nats.go, without waiting for their answers. All answers
// come to one inbox; a number in the subject assigns each to its entry.
type Client struct {
	conn  *nats.Conn
	inbox string // ends with a dot; an entry's number follows

	mu      sync.Mutex
	last    uint64
	pending map[uint64]*entry
}

var (
	errBusy      = errors.New("the server is still storing an event with the same id")
	errBadAnswer = errors.New("the log's answer is not a valid JetStream acknowledgement")
)

// duplicateInProcess is JSStreamDuplicateMessageConflict: the first message with this id is
// not stored yet, so the second is not a duplicate yet.
const duplicateInProcess = 10158

// NewClient returns a client that can publish after Listen.
func NewClient() *Client { return &Client{pending: map[uint64]*entry{}} }

// Listen subscribes to the answers. It must return before the first publish.
func (c *Client) Listen(conn *nats.Conn) error {
	c.conn, c.inbox = conn, conn.NewInbox()+"."
	answers, err := conn.Subscribe(c.inbox+"*", c.receive)
	if err != nil {
		return fmt.Errorf("listen for the log's answers: %w", err)
	}
	// No limit is needed: there are at most as many answers as deliveries in flight.
	return answers.SetPendingLimits(-1, -1)
}

func (c *Client) publish(e *entry) error {
	c.mu.Lock()
	c.last++
	e.number = c.last
	c.pending[e.number] = e
	c.mu.Unlock()
	err := c.conn.PublishMsg(e.message.ForClient(c.inbox + strconv.FormatUint(e.number, 36)))
	if err != nil {
		c.forget(e)
	}
	return err
}

func (c *Client) forget(e *entry) { c.take(e.number) }

func (c *Client) take(number uint64) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.pending[number]
	delete(c.pending, number)
	return e
}

// Lost fails every entry that waits for an answer, because the connection that would have
// carried the answer is gone.
func (c *Client) Lost() {
	c.mu.Lock()
	pending := c.pending
	c.pending = map[uint64]*entry{}
	c.mu.Unlock()
	for _, e := range pending {
		e.answer(0, false, ErrDisconnected)
	}
}

func (c *Client) receive(m *nats.Msg) {
	number, err := strconv.ParseUint(m.Subject[len(c.inbox):], 36, 64)
	if err != nil {
		return
	}
	if e := c.take(number); e != nil {
		e.answer(readAnswer(m.Header.Get("Status"), m.Data))
	}
}

// noResponders is the status of the answer for a subject that no stream stores.
const noResponders = "503"

// readAnswer reads an answer. status is from its header; empty if there is none.
func readAnswer(status string, data []byte) (seq uint64, duplicate bool, err error) {
	if len(data) == 0 && status == noResponders {
		return 0, false, jetstream.ErrNoStreamResponse
	}
	if seq := readStored(data); seq > 0 {
		return seq, false, nil
	}
	var answer struct {
		Error *struct {
			Code        int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
		Stream    string `json:"stream"`
		Seq       uint64 `json:"seq"`
		Duplicate bool   `json:"duplicate"`
	}
	switch err := json.Unmarshal(data, &answer); {
	case err != nil:
		return 0, false, fmt.Errorf("%w: %w", errBadAnswer, err)
	case answer.Error != nil && answer.Error.Code == duplicateInProcess:
		return 0, false, errBusy
	case answer.Error != nil:
		return 0, false, fmt.Errorf("the log does not accept the event: %s (%d)", answer.Error.Description, answer.Error.Code)
	case answer.Stream == "" || answer.Seq == 0:
		return 0, false, errBadAnswer
	}
	return answer.Seq, answer.Duplicate, nil
}

// readStored parses the most frequent answer, {"stream":"…","seq":1}, at a tenth of the
// cost of encoding/json. It returns 0 for any other answer.
func readStored(data []byte) (seq uint64) {
	rest, isAnswer := bytes.CutPrefix(data, []byte(`{"stream":"`))
	stream, rest, hasSeq := bytes.Cut(rest, []byte(`","seq":`))
	digits, isWhole := bytes.CutSuffix(bytes.TrimLeft(rest, " "), []byte("}"))
	if !isAnswer || !hasSeq || !isWhole || len(stream) == 0 || bytes.ContainsAny(stream, `"\\`) || bytes.HasPrefix(digits, []byte("0")) {
		return 0
	}
	seq, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return 0
	}
	return seq
}
