package status

import "fmt"

// PartitionLine is one line of a list of partitions: a partition, or several without lag that have the same owner and
// position.
type PartitionLine struct {
	Partition     // the first one
	Last      int // the number of the last one
}

// Numbers returns the numbers of the partitions, such as 0-63.
func (l PartitionLine) Numbers() string {
	if l.Last == l.Number {
		return fmt.Sprint(l.Number)
	}
	return fmt.Sprintf("%d-%d", l.Number, l.Last)
}

// PartitionLines returns the lines for all partitions.
func (s Status) PartitionLines() (lines []PartitionLine) {
	for _, p := range s.Partitions {
		if end := len(lines) - 1; end >= 0 && shareLine(lines[end].Partition, p) {
			lines[end].Last = p.Number
		} else {
			lines = append(lines, PartitionLine{p, p.Number})
		}
	}
	return lines
}

func shareLine(a, b Partition) bool {
	idle := func(p Partition) bool { return p.Waiting == nil || *p.Waiting == 0 }
	return a.Owner == b.Owner && a.Position == b.Position && idle(a) && idle(b)
}
