package live_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// Each constraint of the tables holds for the rows of each provider's ordinary life.
func TestTheDatabaseRefusesNothingOfAProvidersOrdinaryLife(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("../providers/testdata/scenarios/*")
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(folder, "catalogue.json"))
			require.NoError(t, err)
			sold, err := catalogue.Parse(text)
			require.NoError(t, err)
			files, err := filepath.Glob(filepath.Join(folder, "*.json"))
			require.NoError(t, err)
			ctx, s := fixture.Tables(t)
			rules := projections.Rules{Mode: projections.ModeAny, Catalogue: sold}
			for _, file := range files {
				log := lifeIn(t, file)
				if len(log) == 0 { // the catalogue
					continue
				}
				fixture.Reset(ctx, t, s, rules)
				whole := projections.NewState()
				for _, e := range log {
					rules.Fold(whole, e)
				}
				_, err := live.Apply(ctx, s, rules, log, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: uint64(len(log))})
				require.NoError(t, err, file)
				fixture.RequireTablesOf(ctx, t, s, whole)
				fixture.RequireSound(ctx, t, s, len(log))
			}
		})
	}
}

func lifeIn(t *testing.T, file string) (log []events.Event) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var life struct {
		Events []struct {
			Name string
			Body json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(text, &life))
	for i, e := range life.Events {
		log = append(log, providers.Decode(events.Message{
			Provider: filepath.Base(filepath.Dir(file)), ID: e.Name, Seq: uint64(i + 1), Body: e.Body, ReceivedAt: fixture.Received.AddDate(10, 0, 0),
		}))
	}
	return log
}
