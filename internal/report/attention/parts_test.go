package attention_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/report/attention"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/logreport"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/webhook"
)

func TestOneFaultIsOneConcern(t *testing.T) {
	t.Parallel()
	now := time.Date(2021, 3, 1, 12, 0, 0, 0, time.UTC)
	refused := func(answers map[string]uint64) []webhook.Minute {
		return []webhook.Minute{{Begin: now, Answers: answers}}
	}
	hours := func(n float64) float64 { return n * 3600 }
	silent := browse.Silence{Events: 200, First: now.Add(-50 * time.Hour), Since: now.Add(-5 * time.Hour), Longest: time.Hour}
	for fault, c := range map[string]struct {
		change func(*attention.Parts)
		said   []string
	}{
		"none": {func(*attention.Parts) {}, nil},
		"the log's disk is full": {
			func(p *attention.Parts) {
				p.Silence, p.Ingest.NotReady, p.Ingest.Answers = silent, "the disk is full", refused(map[string]uint64{"unavailable": 3})
				p.Ingest.GivesUp = map[string]float64{"shop": hours(4), "other": hours(72)}
			},
			[]string{"Ingest stores nothing now: the disk is full. In the last quarter of an hour 3 deliveries could not be stored. " +
				"other stops trying in 3 days. shop stops trying in 4 h."},
		},
		"the log does not answer": {
			func(p *attention.Parts) {
				p.Silence, p.Ingest.NotReady, p.Status.LogFault = silent, "no answer of the log", "it cannot be reached"
			},
			[]string{"Ingest stores nothing now: no answer of the log. The log: it cannot be reached."},
		},
		"ingest is down, and with it its log": {
			func(p *attention.Parts) {
				p.Silence, p.Ingest, p.Fault, p.Status.LogFault = silent, nil, "connection refused", "it cannot be reached"
				p.Status.Database.Partitions = nil
			},
			[]string{"Ingest does not answer, so whether deliveries are stored, and for how long the provider still repeats them, is not known: " +
				"connection refused. The log: it cannot be reached. No projector can work without the log."},
		},
		"the log is out of reach only from here, and no projector works": {
			func(p *attention.Parts) {
				p.Status.LogFault, p.Status.Database.Partitions = "it cannot be reached", nil
			},
			[]string{"The log: it cannot be reached.", attention.NoProjector},
		},
		"the log is out of reach, and ingest is not asked": {
			func(p *attention.Parts) {
				p.Ingest, p.Status.LogFault, p.Status.Database.Partitions = nil, "it cannot be reached", nil
			},
			[]string{"The log: it cannot be reached. No projector can work without the log."},
		},
		"the log was down, and no delivery has come since": {
			func(p *attention.Parts) {
				p.Ingest.GivesUp, p.Ingest.Answers = map[string]float64{"shop": hours(4)}, refused(map[string]uint64{"unavailable": 1})
			},
			[]string{"Some deliveries were not stored. In the last quarter of an hour 1 delivery could not be stored. shop stops trying in 4 h."},
		},
		"a wrong secret": {
			func(p *attention.Parts) {
				p.Ingest.GivesUp, p.Ingest.RefusesSignatures = map[string]float64{"shop": hours(4)}, map[string]float64{"shop": hours(1)}
				p.Ingest.Answers = refused(map[string]uint64{"unauthorized": 9})
			},
			[]string{"No signature of shop was valid for 60 min, so none of its deliveries is stored. shop stops trying in 4 h."},
		},
		"a wrong secret for long": {
			func(p *attention.Parts) {
				p.Ingest.GivesUp, p.Ingest.RefusesSignatures = map[string]float64{"shop": 0}, map[string]float64{"shop": hours(90)}
			},
			[]string{"No signature of shop was valid for 3 days, so none of its deliveries is stored. shop has stopped trying a delivery that was not stored."},
		},
		"a stranger's delivery, which nobody repeats": {
			func(p *attention.Parts) {
				p.Ingest.GivesUp, p.Ingest.RefusesSignatures = map[string]float64{"shop": 0}, map[string]float64{"shop": 600}
				p.Ingest.Answers = refused(map[string]uint64{"unauthorized": 1})
			},
			[]string{"In the last quarter of an hour 1 delivery had no valid signature."},
		},
		"a stranger's delivery after a real one was lost": {
			func(p *attention.Parts) {
				p.Ingest.GivesUp, p.Ingest.RefusesSignatures = map[string]float64{"shop": 0}, map[string]float64{"shop": 60}
				p.Ingest.GivesUpSigned = map[string]float64{"shop": 0}
			},
			[]string{"shop has stopped trying a delivery that was not stored."},
		},
		"perhaps a wrong secret": {
			func(p *attention.Parts) {
				p.Ingest.GivesUp, p.Ingest.RefusesSignatures = map[string]float64{"shop": hours(4)}, map[string]float64{"shop": 60}
				p.Ingest.Answers = refused(map[string]uint64{"unauthorized": 2})
			},
			[]string{"In the last quarter of an hour 2 deliveries had no valid signature. If shop sent them, shop stops trying in 4 h."},
		},
		"no projector": {
			func(p *attention.Parts) {
				p.Status.Database.Partitions, p.Status.Lag = nil, &status.Lag{Events: 5, Seconds: 200}
			},
			[]string{attention.NoProjector + " 5 events are not applied yet, the oldest arrived 3 min ago."},
		},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			p := attention.Parts{
				Ingest: &logreport.Ingest{At: now}, Now: now,
				Status: &status.Status{Database: &status.Database{Partitions: []status.Partition{{Owner: "one"}}}},
			}
			c.change(&p)
			var list attention.List
			list.OfParts(p)
			var said []string
			for _, concern := range list {
				said = append(said, concern.What)
			}
			require.Equal(t, c.said, said)
		})
	}
}

func TestWhatAProviderDoesNotRepeatIsPulledOrSentAgain(t *testing.T) {
	t.Parallel()
	var list attention.List
	list.OfParts(attention.Parts{
		Ingest: &logreport.Ingest{GivesUp: map[string]float64{"stripe": 0, "lemonsqueezy": 0}}, Status: &status.Status{},
	})
	require.Len(t, list, 2)
	require.Equal(t, "lemonsqueezy has stopped trying a delivery that was not stored.", list[0].What)
	require.Equal(t, "Have lemonsqueezy send its failed deliveries again, in its dashboard.", list[0].Next, "its API has no list of events")
	require.Equal(t, "Get what was missed: `ingest pull stripe`.", list[1].Next)
}
