package promote

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/store"
)

// ErrNotPromoted means that a promotion was refused and nothing has changed.
var ErrNotPromoted = errors.New("not promoted")

// check returns ErrNotPromoted if the candidate must not become live.
func check(ctx context.Context, s *store.Store, p terms) error {
	candidate, err := s.SchemaNamed(ctx, s.Schema())
	if err != nil {
		return err
	}
	live, err := s.SchemaNamed(ctx, store.LiveSchema)
	if err != nil {
		return err
	}
	if err := p.fit(candidate, live); err != nil {
		return err
	}
	return checkObjects(ctx, s)
}

func (p terms) fit(candidate, live store.Schema) error {
	switch {
	case candidate.Name == store.LiveSchema:
		return fmt.Errorf("%w: %w already", ErrNotPromoted, store.ErrLive)
	case candidate.UntilSeq != nil:
		return fmt.Errorf("%w: %s holds the tables as of seq %d", ErrNotPromoted, candidate.Name, *candidate.UntilSeq)
	case candidate.FoldID != p.FoldID:
		return fmt.Errorf("%w: %s was folded under %q, this command has %q; run the build, catalogue and mode it was made with",
			ErrNotPromoted, candidate.Name, candidate.FoldID, p.FoldID)
	case candidate.LogID != live.LogID && !p.AcceptLogLoss:
		return fmt.Errorf("%w: %s was folded from log %s, the live tables from %s; projector promote --accept-log-loss gives up what only the log of the live tables had",
			ErrNotPromoted, candidate.Name, candidate.LogID, live.LogID)
	}
	return nil
}

// checkBeginning refuses a candidate that lacks the events before an adopted log, if the live
// tables have them.
func checkBeginning(ctx context.Context, s *store.Store, tx pgx.Tx, first uint64) error {
	var lacking bool
	err := tx.QueryRow(ctx, fmt.Sprintf(`select exists (select from %s where stream_seq < $1) and not exists (select from %s where stream_seq < $1)`,
		store.Qualified(store.LiveSchema, "processed_event"), store.Qualified(s.Schema(), "processed_event")), int64(first)).Scan(&lacking)
	if err != nil {
		return fmt.Errorf("compare the beginnings: %w", err)
	}
	if lacking {
		return fmt.Errorf("%w: the log begins at seq %d and the live tables hold earlier messages; projector promote --accept-log-loss gives these up", ErrNotPromoted, first)
	}
	return nil
}

// checkPositions refuses a candidate that is behind the live tables.
func checkPositions(ctx context.Context, s *store.Store, tx pgx.Tx) error {
	var behind int
	err := tx.QueryRow(ctx, fmt.Sprintf(`select count(*) from %s live left join %s candidate using (partition)
		where candidate.position is null or candidate.position < live.position`,
		store.Qualified(store.LiveSchema, "checkpoint"), store.Qualified(s.Schema(), "checkpoint"))).Scan(&behind)
	if err != nil {
		return fmt.Errorf("compare the checkpoints: %w", err)
	}
	if behind > 0 {
		return fmt.Errorf("%w: %d partitions of %s are behind the live tables", ErrNotPromoted, behind, s.Schema())
	}
	return nil
}

// foldedBefore selects the events that the candidate $1 has folded and that were quarantined later. The index of
// stream_seq finds them.
const foldedBefore = `select e.stream_seq from payfold.quarantined_event join payfold.schema_state using (log_id) join %[1]s e using (stream_seq)
	where schema_name = $1 and e.reason is distinct from 'internal'`

// releasedSince selects the events that the candidate has rejected and that are not quarantined any more. It reads the
// whole table.
const releasedSince = `select e.stream_seq from %[1]s e left join payfold.quarantined_event using (stream_seq)
	where e.outcome = 'rejected' and e.reason = 'internal' and payfold.quarantined_event.stream_seq is null`

// checkQuarantined refuses a candidate if a fold of the log now would have other quarantined events. Its promotion
// would give or take money without an event. The previous tables may be promoted as they are.
func checkQuarantined(ctx context.Context, s *store.Store, q store.Querier, parts ...string) error {
	if s.Schema() == store.PreviousSchema {
		return nil
	}
	changed, first, err := count(ctx, q, fmt.Sprintf(strings.Join(parts, " union all "), store.Qualified(s.Schema(), "processed_event")), s.Schema())
	if err != nil {
		return fmt.Errorf("compare the quarantined events: %w", err)
	}
	if changed > 0 {
		return fmt.Errorf("%w: events were quarantined or released after %s had folded them, the first of %d at seq %d; run: projector drop %[2]s, then projector rebuild --promote",
			ErrNotPromoted, s.Schema(), changed, first)
	}
	return nil
}

// count returns the number of events that the query selects, and the first sequence; 0 if there are none.
func count(ctx context.Context, q store.Querier, selected string, argument any) (events, first int64, err error) {
	err = q.QueryRow(ctx, "select count(*), coalesce(min(stream_seq), 0) from ("+selected+") found", argument).Scan(&events, &first)
	return events, first, err
}

// rejectedOnly selects the events that the candidate $1 rejects because they are quarantined, and that the live tables
// do not. The index of stream_seq finds them.
const rejectedOnly = `select stream_seq
	from payfold.quarantined_event join payfold.schema_state using (log_id) join %s candidate using (stream_seq) join %s live using (stream_seq)
	where schema_name = $1 and candidate.reason = 'internal' and live.reason is distinct from 'internal'`

// checkApplied refuses a candidate that rejects quarantined events that the live tables have applied: the promotion
// would take back what they gave. The tables of a rebuild can refuse what the live tables do not, for example because
// of a constraint that only they have.
func checkApplied(ctx context.Context, s *store.Store, tx pgx.Tx) error {
	if s.Schema() == store.PreviousSchema {
		return nil
	}
	rejected, first, err := count(ctx, tx, besideLive(rejectedOnly, s), s.Schema())
	if err != nil {
		return fmt.Errorf("compare the quarantined events: %w", err)
	}
	if rejected > 0 {
		return fmt.Errorf("%w: %s rejects %d quarantined events that the live tables have applied, the first at seq %d; repair the cause, and run: projector quarantine retry for each, projector drop %[2]s, then projector rebuild --promote; projector promote --accept-log-loss gives these up",
			ErrNotPromoted, s.Schema(), rejected, first)
	}
	return nil
}

// besideLive puts the names of the candidate's and the live events into a query.
func besideLive(query string, s *store.Store) string {
	return fmt.Sprintf(query, store.Qualified(s.Schema(), "processed_event"), store.Qualified(store.LiveSchema, "processed_event"))
}

// lostEvents selects the events of the live tables that the candidate lacks, because the log has marks of the type $1
// in their place (events.Lost) and the provider has not sent them again. It reads the candidate's whole table.
const lostEvents = `select live.stream_seq from %[1]s mark join %[2]s live using (stream_seq)
	where mark.event_type = $1 and live.event_type is distinct from $1 and not exists (select from %[1]s again where again.event_id = live.event_id)`

// checkMarks refuses a candidate that lacks events of the live tables because a restored log has marks in their place.
// No later event can be in the place of a mark, so it need not be repeated while batches wait.
func checkMarks(ctx context.Context, s *store.Store) error {
	lacking, first, err := count(ctx, s.Pool(), besideLive(lostEvents, s), events.LostType)
	if err != nil {
		return fmt.Errorf("look for lost events: %w", err)
	}
	if lacking > 0 {
		return fmt.Errorf("%w: the log lacks %d events of the live tables, the first at seq %d; have the provider send them again; projector promote --accept-log-loss gives these up",
			ErrNotPromoted, lacking, first)
	}
	return nil
}

// checkObjects refuses a promotion if objects that are not payfold's depend on the tables. After
// the promotion, objects that depend on the live tables would still depend on these tables, which
// would not be live any more. Objects that depend on the previous tables would be dropped.
func checkObjects(ctx context.Context, s *store.Store) error {
	theirs, err := store.ExternalDependencies(ctx, s.Pool(), store.LiveSchema, s.Schema(), store.Outside, store.Attached, store.Inside)
	if err != nil {
		return err
	}
	if len(theirs) > 0 {
		return fmt.Errorf("%w: objects that are not payfold's depend on the live tables and would stay with the old ones: %s",
			ErrNotPromoted, strings.Join(theirs, ", "))
	}
	if s.Schema() == store.PreviousSchema {
		return nil
	}
	var taken, ours bool
	err = s.Pool().QueryRow(ctx, "select to_regnamespace($1) is not null, exists (select from payfold.schema_state where schema_name = $1) and to_regclass($1 || '.checkpoint') is not null", store.PreviousSchema).
		Scan(&taken, &ours)
	switch {
	case err != nil:
		return fmt.Errorf("look for schema %s: %w", store.PreviousSchema, err)
	case !taken:
		return nil
	case !ours:
		return fmt.Errorf("%w: schema %s is there and is not payfold's", ErrNotPromoted, store.PreviousSchema)
	}
	if theirs, err = store.ExternalDependencies(ctx, s.Pool(), store.PreviousSchema, s.Schema(), store.Outside, store.Inside); err != nil {
		return err
	}
	if len(theirs) > 0 {
		return fmt.Errorf("%w: schema %s is to be replaced, and objects that are not payfold's depend on it: %s",
			ErrNotPromoted, store.PreviousSchema, strings.Join(theirs, ", "))
	}
	return nil
}
