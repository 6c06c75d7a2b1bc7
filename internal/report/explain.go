package report

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/store"
)

// Question is what somebody wants to be told of: one of the three.
type Question struct {
	EventID string // as the provider or the tables have it
	Seq     uint64 // a message's place in the log
	User    string

	Limit int // most items of a list; the newest are shown
}

// Answer is written for a person, or as one JSON object.
type Answer interface {
	Write(w io.Writer, asJSON bool) error
}

// Explain answers from the tables, and from the log where that has more to say.
// UnknownError where neither knows of it.
func Explain(ctx context.Context, log Log, tables *store.Store, about Question) (Answer, error) {
	answer, err := explain(ctx, log, tables, about)
	switch {
	case !errors.Is(err, store.ErrUnknown):
		return answer, err
	case about.User != "":
		return nil, UnknownError{unknownUser(about.User)}
	case about.Seq != 0:
		return nil, UnknownError{err.Error()}
	}
	return nil, UnknownError{unknownEvent(ctx, log, about.EventID)}
}

func explain(ctx context.Context, log Log, tables *store.Store, about Question) (Answer, error) {
	if about.User != "" {
		story, err := readUser(ctx, tables, strings.ToValidUTF8(about.User, "\uFFFD"), about.Limit)
		return User{story}, err
	}
	var story EventStory
	var err error
	if about.Seq != 0 {
		story, err = readMessage(ctx, tables, about.Seq, about.Limit)
		if errors.Is(err, store.ErrUnknown) {
			live, err := tables.SchemaNamed(ctx, tables.Schema())
			if err != nil {
				return nil, err
			}
			return findPending(ctx, log, live.LogID, about.Seq)
		}
	} else {
		story, err = readEvent(ctx, tables, events.PossibleIDs(about.EventID), about.Limit)
	}
	if err != nil {
		return nil, err
	}
	return newEvent(ctx, log, story), nil
}

// UnknownError says, in a line, that nothing is known.
type UnknownError struct{ line string }

func (e UnknownError) Error() string { return e.line }
