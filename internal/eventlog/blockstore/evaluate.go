package blockstore

import (
	"fmt"
	"path/filepath"
)

// fault is a place in the log that differs from what should be there.
type fault struct {
	Damage
	block int    // number of its block; a gap between two blocks is at the end of the first
	next  uint64 // the sequence that was expected here
	open  bool   // To is not known yet
	torn  bool   // an interrupted write looks like this
}

// evaluate walks through all pieces in the order of the log. It counts the undamaged
// messages, and tells damage from an interrupted write.
func (s *Store) evaluate(e *expectation, scans []blockScan) {
	report, next := e.report, e.report.First
	var faults []fault
	var end fault // where the piece ends
	add := func(f fault) {
		f.next, f.File, f.Advice = next, s.block(f.block), adviceRestore
		faults = append(faults, f)
	}
	for _, scan := range scans {
		report.Blocks++
		report.Bytes += int64(scan.size)
		for _, p := range scan.pieces {
			before := end // where the previous piece ended
			end = fault{block: scan.number, Damage: Damage{Offset: p.offset + p.size}}
			at := fault{block: scan.number, Damage: Damage{Offset: p.offset, Bytes: p.size, From: p.from, To: p.to, Reason: p.bad}}
			switch {
			case p.tombstone:
				if p.to+1 != report.First || next != report.First {
					at.From, at.Reason = p.to, fmt.Sprintf("a mark of the server that everything up to seq %d was removed", p.to)
					add(at)
				}
				continue
			case p.bad != "" && p.from == 0:
				at.From, at.open, at.torn = next, true, true
				add(at)
				continue
			}
			// A message, or a run of them.
			isOpen := len(faults) > 0 && faults[len(faults)-1].open
			for n := range faults {
				if faults[n].open && p.from >= next {
					closeFault(&faults[n], p.from)
				}
			}
			switch {
			case p.from < next:
				again := at
				again.Reason = fmt.Sprintf("seq %d instead of seq %d", p.from, next)
				add(again)
			case p.from > next && !isOpen:
				place := before
				if place.block == 0 {
					place.block = scan.number
				}
				place.torn = place.block < scan.number // a power cut can lose the whole end of a block
				place.From, place.To = next, p.from-1
				place.Reason = fmt.Sprintf("missing: the next record is seq %d in %s", p.from, filepath.Base(s.block(scan.number)))
				add(place)
			}
			if p.bad != "" { // the message is complete, but the server would deliver another one
				add(at)
			}
			next = max(next, p.to+1)
		}
	}
	report.Last = next - 1
	s.classify(e, scans, faults)
}

// closeFault sets the last sequence of a fault that ends where the message seq begins.
func closeFault(f *fault, seq uint64) {
	f.open = false
	if f.To = seq - 1; f.To < f.From {
		f.From, f.To = 0, 0 // bytes between two messages
	}
}

// classify tells damage from a torn end, which a kill or a power cut has left. A torn end is above
// the durable watermark's sequence, and not in a block before the watermark's block.
func (s *Store) classify(e *expectation, scans []blockScan, faults []fault) {
	report, newest := e.report, 0
	if len(scans) > 0 {
		newest = scans[len(scans)-1].number
	}
	for n, f := range faults {
		if e.running && f.next > e.durable() {
			faults = faults[:n]
			break
		}
		if !e.running && e.mayBeTorn(f, newest) {
			report.Last = f.next - 1
			report.TornTail = s.tail(f, scans)
			faults = faults[:n]
			break
		}
	}
	faults = append(faults, s.mismatches(e, newest, faults)...)
	damaged, counted := uint64(0), report.First-1
	for _, f := range faults {
		if f.open {
			closeFault(&f, max(e.durable(), report.Last)+1)
		}
		if from, to := max(f.From, counted+1), min(f.To, report.Last); f.From > 0 && from <= to {
			damaged, counted = damaged+to-from+1, to
		}
		report.Damage = append(report.Damage, f.Damage)
	}
	if e.running {
		report.Last = min(report.Last, e.durable())
	}
	report.Events = report.Last + 1 - report.First - damaged
}

// durable returns the watermark's sequence; 0 if there is no watermark.
func (e *expectation) durable() uint64 {
	if e.watermark == nil {
		return 0
	}
	return e.watermark.Seq
}

// mayBeTorn reports whether the fault can be an interrupted write: neither the messages at
// the fault nor any later ones were confirmed. Without a watermark only the end of the
// newest block can be torn.
func (e *expectation) mayBeTorn(f fault, newest int) bool {
	w := e.watermark
	switch {
	case e.closed || !f.torn:
		return false
	case w == nil || w.LogID == "":
		return f.block == newest && f.next > e.durable()
	}
	return f.next > w.Seq && f.block >= min(w.Block, newest)
}

func (s *Store) tail(f fault, scans []blockScan) *Tail {
	tail := &Tail{File: f.File, Offset: f.Offset}
	for _, scan := range scans {
		switch {
		case scan.number == f.block:
			tail.Bytes = scan.size - f.Offset
		case scan.number > f.block:
			tail.Newer = append(tail.Newer, s.block(scan.number))
		}
	}
	return tail
}

// mismatches returns how the log differs from the log for which the watermark was written. A log
// can differ and still be undamaged.
func (s *Store) mismatches(e *expectation, newest int, faults []fault) (out []fault) {
	report, w := e.report, e.watermark
	mismatch := func(file, advice, format string, values ...any) {
		out = append(out, fault{Damage: Damage{File: file, Reason: fmt.Sprintf(format, values...), Advice: advice}})
	}
	switch {
	case w == nil || len(faults) > 0:
	case report.Last < w.Seq:
		mismatch(s.dir, s.adviceAccept(), "missing: it was confirmed, and the log ends before it")
		out[0].From, out[0].To = report.Last+1, w.Seq
	case w.Closed && report.Last > w.Seq:
		mismatch(s.dir, s.adviceAccept(), "the log ended with seq %d when it was closed, and now ends with seq %d", w.Seq, report.Last)
	case w.Block > newest && !e.running:
		mismatch(s.block(w.Block), s.adviceAccept(), "the block is missing")
	}
	return out
}
