package endtoend

import "testing"

// maxBetween is the maximum of deliveries between two disturbances.
const maxBetween = 60

func TestEveryAcknowledgedEventSurvivesKillsOfIngest(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.startProjector(t)
	load := startLoad(t, w, fastPace)
	for range 4 {
		load.await(t, maxBetween)
		w.ingest.Kill()
		w.startIngest(t)
	}
	load.finish(t, w)
}

func TestEveryEventTakesEffectOnceThroughKillsOfTheProjector(t *testing.T) {
	t.Parallel()
	w := setup(t)
	projector := w.startProjector(t, "BATCH_SIZE=7")
	load := startLoad(t, w, fastPace)
	for range 4 {
		load.await(t, maxBetween)
		projector.Kill()
		projector = w.startProjector(t, "BATCH_SIZE=7")
	}
	load.finish(t, w)
}

func TestEveryEventTakesEffectOnceWhenEverythingIsKilled(t *testing.T) {
	t.Parallel()
	w := setupPrivate(t)
	projector := w.startPrivate(t)
	load := startLoad(t, w, fastPace)
	for range 2 {
		load.await(t, maxBetween)
		w.ingest.Kill()
		projector.Kill()
		w.startIngest(t)
		projector = w.startPrivate(t)
	}
	load.finish(t, w)
	stop(t, projector)
}
