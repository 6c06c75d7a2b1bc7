package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

func TestAPanicOfTheRulesIsARefusedErrorOfThatEvent(t *testing.T) {
	t.Parallel()
	err := Fold(projections.Rules{Mode: projections.ModeAny}, nil, events.Event{Seq: 7})
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	require.EqualValues(t, 7, refused.Seq)
}
