package world

import (
	"context"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
)

// LossyLog is a log that was restored from an archive without its newest messages. It has a mark in the place of a lost
// message (events.Lost).
type LossyLog struct {
	*eventlog.Log
	Lost  uint64 // the sequence of the message
	Again uint64 // the message that has the event of the lost one, because the provider has sent it again; 0: none
}

// Message implements rebuild.Log, as does ReadUntil.
func (l LossyLog) Message(ctx context.Context, seq uint64) (events.Message, error) {
	m, err := l.Log.Message(ctx, seq)
	if err != nil {
		return m, err
	}
	return l.instead(ctx, m)
}

func (l LossyLog) ReadUntil(ctx context.Context, from, until uint64, deliver func(events.Message) error) error {
	return l.Log.ReadUntil(ctx, from, until, func(m events.Message) error {
		m, err := l.instead(ctx, m)
		if err != nil {
			return err
		}
		return deliver(m)
	})
}

// instead returns the message that is in the place of m.
func (l LossyLog) instead(ctx context.Context, m events.Message) (events.Message, error) {
	switch m.Seq {
	case l.Again:
		lost, err := l.Log.Message(ctx, l.Lost)
		lost.Seq = m.Seq
		return lost, err
	case l.Lost:
		info, err := l.Info(ctx)
		id, body := events.Lost(m.Seq)
		mark := events.Message{Seq: m.Seq, ID: id, Body: body, Provider: events.OwnEvents, ReceivedAt: m.StoredAt, StoredAt: m.StoredAt}
		mark.Partition = providers.Decode(mark).Partition(info.Partitions)
		return mark, err
	}
	return m, nil
}
