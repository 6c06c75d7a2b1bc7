package console_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/console"
	"github.com/payfold/payfold/internal/report/logreport"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestAConcernLeadsToWhereItIsExplained(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, 2, fixture.Pack("e1", "p1", "u1", 1), fixture.Pack("e2", "p2", "u1", 1))
	_, err := shop.Tables.Pool().Exec(ctx, `
		insert into payfold.quarantined_event (log_id, stream_seq, error) select log_id, 2, 'no' from payfold.schema_state;
		insert into payfold.out_of_order_event (log_id, stream_seq, later_seq, shared, schema_created_at)
		select log_id, 1, 2, 'event_id', created_at from payfold.schema_state where schema_name = 'portal';
		insert into payfold.invitation_pause values ('acme/tool', now() + interval '1 hour', 'denied', 'bad credentials')`)
	require.NoError(t, err)
	server := run(t, console.Config{
		Log: shop.Log, Tables: shop.Tables, Guard: everybody{}, Logger: testenv.Logger(t),
		Ingest: func(context.Context) (logreport.Ingest, error) {
			return logreport.Ingest{
				NotReady: "the disk is full", Damage: []string{"seq 8: the log skips from seq 7 to 9", "seq 12: more"},
				Archive: &archive.State{Archive: "/archive", LastError: "the store does not answer", Damaged: 1},
			}, nil
		},
	})
	_, text := get(t, server, "/", "Accept", "application/json")
	var overview struct {
		Concerns []struct{ What, Path string }
	}
	require.NoError(t, json.Unmarshal([]byte(text), &overview))
	explained := map[string]string{ // by a part of the concern
		"Ingest stores nothing now":      "It stores nothing now: the disk is full.",
		"A disk of the log is damaged":   "<li>seq 12: more</li>",
		"The archive lacks a part":       "the store does not answer",
		"applied out of the log's order": "<td>event id</td>",
		"The database refused the rows":  "masked; a console with",
		"Nobody is invited":              "bad credentials",
		"No projector works":             `<h2 id="members">`,
	}
	for _, concern := range overview.Concerns {
		_, page := get(t, server, concern.Path)
		_, place, found := strings.Cut(concern.Path, "#")
		require.True(t, !found || strings.Contains(page, `id="`+place+`"`), concern.What)
		for part, explains := range explained {
			if strings.Contains(concern.What, part) {
				require.Contains(t, page, explains, concern.What)
				delete(explained, part)
			}
		}
	}
	require.Empty(t, explained, "%v", overview.Concerns)
}
