package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/testenv"
)

func TestAPanicOfTheRulesIsARefusedErrorOfThatEvent(t *testing.T) {
	t.Parallel()
	err := AsRefused(projections.Rules{Mode: projections.ModeAny}.FoldAll(nil, slices.Values([]events.Event{{Seq: 7}})))
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	require.EqualValues(t, 7, refused.Seq)
}

// An event is quarantined only if its rows are the cause.
func TestOnlyErrorsOfRowsAreRefusals(t *testing.T) {
	t.Parallel()
	of := func(code string) error { return fmt.Errorf("write the rows: %w", &pgconn.PgError{Code: code}) }
	for name, c := range map[string]struct {
		err     error
		refused bool
	}{
		"a text that the encoding lacks":   {of("22P05"), true},
		"a check":                          {of("23514"), true},
		"a check at the commit":            {&CommitError{of("23514")}, true},
		"a text too long for an index":     {of("54000"), true},
		"a full queue of notifications":    {&CommitError{of("54000")}, false},
		"an exception of a trigger":        {of("P0001"), true},
		"a full disk":                      {of("53100"), false},
		"a server that stops":              {of("57P01"), false},
		"a table that is gone":             {of("42P01"), false},
		"a right that is missing":          {of("42501"), false},
		"a deadlock":                       {of("40P01"), false},
		"a session that may only read":     {of("25006"), false},
		"a lost connection":                {errors.New("unexpected EOF"), false},
		"a lost connection, at the commit": {&CommitError{errors.New("unexpected EOF")}, false},
	} {
		require.Equal(t, c.refused, errors.As(AsRefused(c.err), new(*RefusedError)), name)
		require.ErrorIs(t, AsRefused(c.err), c.err, name)
	}
	for _, code := range []string{"23505", "40001", "40P01"} {
		require.True(t, IsConflict(of(code)), code)
	}
}

func TestADatabaseThatRefusesManyEventsIsTheCause(t *testing.T) {
	t.Parallel()
	var q Quarantine
	for seq := range uint64(maxQuarantined) {
		require.NoError(t, q.CheckRoom(errors.New("refused")))
		q.Recorded(t.Context(), testenv.Logger(t), seq, errors.New("refused"))
	}
	require.ErrorContains(t, q.CheckRoom(errors.New("refused")), "refuses more than 100 events, so the events are not the cause: refused")
}
