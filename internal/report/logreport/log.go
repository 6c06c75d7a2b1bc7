package logreport

import (
	"fmt"

	"github.com/payfold/payfold/internal/eventlog"
)

// Log is the state of the log.
type Log struct {
	LogID      string              `json:"log_id"`
	Partitions int                 `json:"partitions"`
	First      uint64              `json:"first_seq"`
	Head       uint64              `json:"head"`
	Replicas   int                 `json:"replicas"`
	Current    int                 `json:"replicas_current"` // of these, that have what the leader has
	Durability eventlog.Durability `json:"durability"`       // of an event that was answered 200
}

// LogOf returns the state that info describes.
func LogOf(info eventlog.Info) Log {
	return Log{info.LogID, info.Partitions, info.First, info.Last, info.Replicas, info.Current, info.Durability}
}

// ReplicasText tells how many replicas the log has, how many of them are current, and how durable an event is when
// it is answered 200.
func (l Log) ReplicasText() string {
	switch l.Durability {
	case eventlog.Fsynced:
		return fmt.Sprintf("%d, fsynced before the answer", l.Replicas)
	case eventlog.Quorum:
		text := fmt.Sprintf("%d, a quorum of which has every event that was answered 200", l.Replicas)
		if l.Current < l.Replicas {
			text += fmt.Sprintf("; WARNING: only %d are current, the others are behind or away", l.Current)
		}
		return text
	default:
		return fmt.Sprintf("%d: WARNING: a power cut of its server may lose events that were answered 200, unless the server sets sync_interval: always", l.Replicas)
	}
}
