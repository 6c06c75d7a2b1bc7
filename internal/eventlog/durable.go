package eventlog

import (
	"context"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"

	"github.com/payfold/payfold/internal/eventlog/accounts"
)

// confirm waits until the message at seq, which the server has delivered, is durable. It returns a sequence, seq or a
// newer one, up to which everything is. The embedded server delivers a message before it is durable. A projector that
// applied such a message would be ahead of the log after a power cut, and would refuse the log.
func (l *Log) confirm(ctx context.Context, seq uint64) (durable uint64, err error) {
	switch {
	case l.server != nil:
		return l.committer.confirm(ctx, seq)
	case l.access != nil: // the server is in another process, whose answerReaders answers
		return l.askDurable(ctx, seq)
	}
	return seq, nil // a cluster delivers only what its quorum has
}

// maxQuestions bounds the questions in progress: one for each connection that readers may
// have (package accounts). A reader that gets no answer asks again.
const maxQuestions = 256

// answerReaders answers the readers' questions until the log is closed. It uses a second
// connection, in the readers' account, because a reader can make the server deliver the
// whole log to any subject that has a subscriber in that account. The connection that
// appends deliveries must not be reachable in this way.
func (s *Server) answerReaders() (err error) {
	options := append(s.inside(s.answerToken), nats.Name("payfold answers"), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort())
	if s.answers, err = nats.Connect(embeddedURL, options...); err != nil {
		return fmt.Errorf("connect to answer readers: %w", err)
	}
	slots := make(chan struct{}, maxQuestions)
	_, err = s.answers.Subscribe(accounts.DurableQuestion, func(m *nats.Msg) {
		seq, err := strconv.ParseUint(string(m.Data), 10, 64)
		if err != nil {
			return
		}
		select {
		case slots <- struct{}{}:
		default:
			return
		}
		go func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(context.Background(), ofEmbedded.request)
			defer cancel()
			if durable, err := s.log.committer.confirm(ctx, seq); err == nil {
				_ = m.Respond(strconv.AppendUint(nil, durable, 10))
			}
		}()
	})
	if err == nil {
		err = s.answers.Flush()
	}
	if err != nil {
		return fmt.Errorf("listen for readers: %w", err)
	}
	return nil
}

// askDurable asks the writing process whether seq is durable; the result is that of
// committer.Confirm.
func (l *Log) askDurable(ctx context.Context, seq uint64) (durable uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.request)
	defer cancel()
	answer, err := l.conn.RequestWithContext(ctx, accounts.DurableQuestion, strconv.AppendUint(nil, seq, 10))
	if err != nil {
		return 0, fmt.Errorf("ask whether seq %d is durable: %w", seq, err)
	}
	durable, err = strconv.ParseUint(string(answer.Data), 10, 64)
	if err != nil || durable < seq {
		return 0, fmt.Errorf("asked whether seq %d is durable, the log says %q", seq, answer.Data)
	}
	return durable, nil
}
