package eventlog

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// The server shows a message to readers before it is durable. A projector that
// applied it would be ahead of the log after a power cut, and refuse the log. So
// readers ask the process that writes, which answers when the message is durable.
const durableQuestion = "log.durable"

// questionTimeout: a flush that takes longer is given up, and asked for anew.
const questionTimeout = 5 * time.Second

// mostQuestions are answered at once: one of each connection that readers may have
// (accounts.conf). Who is not answered asks again.
const mostQuestions = 256

// answerReaders serves their questions until the log is closed. It has a connection
// of its own in the readers' account: a reader can have the server deliver the whole
// log to any subject there is a subscriber for, and where deliveries are appended
// there must be none.
func (l *Log) answerReaders(options ...nats.Option) (err error) {
	l.confirm = l.committer.confirm
	options = append(options, nats.Name("payfold answers"), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort())
	if l.answers, err = nats.Connect("nats://embedded.invalid", options...); err != nil {
		return fmt.Errorf("connect to answer readers: %w", err)
	}
	room := make(chan struct{}, mostQuestions)
	_, err = l.answers.Subscribe(durableQuestion, func(m *nats.Msg) {
		seq, err := strconv.ParseUint(string(m.Data), 10, 64)
		if err != nil {
			return
		}
		select {
		case room <- struct{}{}:
		default:
			return
		}
		go func() {
			defer func() { <-room }()
			ctx, cancel := context.WithTimeout(context.Background(), questionTimeout)
			defer cancel()
			if durable, err := l.committer.confirm(ctx, seq); err == nil {
				_ = m.Respond(strconv.AppendUint(nil, durable, 10))
			}
		}()
	})
	if err == nil {
		err = l.answers.Flush()
	}
	if err != nil {
		return fmt.Errorf("listen for readers: %w", err)
	}
	return nil
}

// ask is confirm from another process.
func (l *Log) ask(ctx context.Context, seq uint64) (durable uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	answer, err := l.conn.RequestWithContext(ctx, durableQuestion, strconv.AppendUint(nil, seq, 10))
	if err != nil {
		return 0, fmt.Errorf("ask whether seq %d is durable: %w", seq, err)
	}
	durable, err = strconv.ParseUint(string(answer.Data), 10, 64)
	if err != nil || durable < seq {
		return 0, fmt.Errorf("asked whether seq %d is durable, the log says %q", seq, answer.Data)
	}
	return durable, nil
}
