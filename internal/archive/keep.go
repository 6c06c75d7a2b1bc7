package archive

import (
	"errors"
	"strconv"
	"time"
)

// Keep says which messages the log's server keeps in addition to the archive: this number of the
// newest, or those stored within the last Age. The zero value keeps all.
type Keep struct {
	Messages uint64
	Age      time.Duration
}

var errKeep = errors.New("must be a number of messages, or a duration like 720h, above 0")

// ParseKeep reads a number or a duration.
func ParseKeep(text string) (Keep, error) {
	if number, err := strconv.ParseUint(text, 10, 64); err == nil && number > 0 {
		return Keep{Messages: number}, nil
	}
	age, err := time.ParseDuration(text)
	if err != nil || age <= 0 {
		return Keep{}, errKeep
	}
	return Keep{Age: age}, nil
}

// All reports whether everything is kept.
func (k Keep) All() bool { return k == Keep{} }

// releases reports whether no message of a segment has to be kept.
func (k Keep) releases(a *Archive, info *Info, head Head, now time.Time) bool {
	if k.Messages > 0 {
		return info.Last <= head.Last && head.Last-info.Last >= k.Messages
	}
	return k.Age > 0 && a.storedBy(info, now).Before(now.Add(-k.Age))
}

// storedBy returns a time by which all of a segment was stored. That is when its last message was stored, unless the
// server's clock was ahead then. In that case a later segment tells, because its messages were stored afterwards.
func (a *Archive) storedBy(info *Info, now time.Time) time.Time {
	for info != nil && info.StoredTo.After(now) {
		info = a.segmentOf(info.Last + 1)
	}
	if info == nil {
		return now
	}
	return info.StoredTo
}
