package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/archive/segment"
	"github.com/payfold/payfold/internal/archive/storage"
)

// An archive is made of segments, which hold records.
type (
	Record       = segment.Record
	Info         = segment.Info
	Hash         = segment.Hash
	DamagedError = segment.DamagedError
)

// ContradictionError means that the archive does not belong to the log, or not to one log. Nothing
// is written to it any more, because nobody can know which of the two is right.
type ContradictionError struct{ Reason string }

func (e *ContradictionError) Error() string {
	return "the archive contradicts the log: " + e.Reason
}

// isContradiction reports whether an error says that nothing must be written to the archive any more.
func isContradiction(err error) bool {
	_, is := errors.AsType[*ContradictionError](err)
	return is
}

func contradiction(format string, args ...any) error {
	return &ContradictionError{fmt.Sprintf(format, args...)}
}

// isDamage reports whether an error says that bytes of a segment are not those that were written.
func isDamage(err error) bool {
	_, is := errors.AsType[*DamagedError](err)
	return is
}

// GapError means that no segment holds these sequences.
type GapError struct{ From, To uint64 }

func (e *GapError) Error() string {
	return fmt.Sprintf("the archive lacks seq %d to %d", e.From, e.To)
}

// Extent returns the sequences that cannot be read because of damage or a gap; to is 0 if it is not known. It returns
// 0, 0 for any other error.
func Extent(err error) (from, to uint64) {
	if damaged, is := errors.AsType[*DamagedError](err); is {
		return damaged.From, damaged.To
	}
	if gap, is := errors.AsType[*GapError](err); is {
		return gap.From, gap.To
	}
	return 0, 0
}

// Archive is the archive of one log, as it was when it was last opened or refreshed. It is not safe
// for concurrent use.
type Archive struct {
	place storage.Place
	logID string

	known    map[string]*Info // every segment that was opened; see isReplaced
	origin   uint64           // the log's first sequence, as the segments' trees say; 0 in an empty archive
	names    candidates       // of all segments that were listed
	segments []*Info          // in order; together they hold all readable sequences
	replaced []string         // the names of segments that lie within a merged one
	faults   []error          // what is damaged, missing or contradicts; see Faults
}

// Open reads and checks the header and the footer of every segment that does not lie within a
// merged one. It also checks that the segments follow each other. It fails if the place cannot be
// read. Faults returns what is wrong with the segments.
func Open(ctx context.Context, place storage.Place, logID string) (*Archive, error) {
	a := &Archive{place: place, logID: logID, known: map[string]*Info{}}
	return a, a.Refresh(ctx)
}

// LogID is the id of the archived log.
func (a *Archive) LogID() string { return a.logID }

// First is the first sequence; 0 in an empty archive.
func (a *Archive) First() uint64 {
	if len(a.segments) == 0 {
		return 0
	}
	return a.segments[0].First
}

// Last is the last sequence; 0 in an empty archive.
func (a *Archive) Last() uint64 { return cmp.Or(a.end(), new(Info)).Last }

// Partitions is the number of the log's partitions; 0 in an empty archive.
func (a *Archive) Partitions() int { return cmp.Or(a.end(), new(Info)).Partitions }

// StoredTo is when the last message was stored; zero in an empty archive.
func (a *Archive) StoredTo() time.Time { return cmp.Or(a.end(), new(Info)).StoredTo }

// Faults returns what is wrong: DamagedErrors, GapErrors, ContradictionErrors.
func (a *Archive) Faults() []error { return a.faults }

// Contradiction returns the first ContradictionError among the faults; nil if there is none.
func (a *Archive) Contradiction() error {
	for _, fault := range a.faults {
		if isContradiction(fault) {
			return fault
		}
	}
	return nil
}

// Lacks returns the Faults because of which messages cannot be read. It leaves out damaged segments whose messages are
// all in whole segments. A damaged frame is found only when it is read.
func (a *Archive) Lacks() []error {
	return slices.DeleteFunc(slices.Clone(a.faults), func(fault error) bool {
		damaged, is := errors.AsType[*DamagedError](fault)
		if !is || damaged.Frame > 0 {
			return false
		}
		first, last, _ := segment.ParseName(damaged.Segment)
		return last > 0 && len(a.covers(candidate{damaged.Segment, first, last})) > 0
	})
}

// Clone returns a copy for another goroutine, which then need not open the segments again.
func (a *Archive) Clone() *Archive {
	out := *a
	out.known, out.segments = maps.Clone(a.known), slices.Clone(a.segments)
	out.replaced, out.faults = slices.Clone(a.replaced), slices.Clone(a.faults)
	return &out
}

// end returns the newest segment; nil in an empty archive.
func (a *Archive) end() *Info {
	if len(a.segments) == 0 {
		return nil
	}
	return a.segments[len(a.segments)-1]
}

// next returns the sequence with which the next segment begins.
func (a *Archive) next(head Head) uint64 {
	if end := a.end(); end != nil {
		return end.Last + 1
	}
	return head.First
}
