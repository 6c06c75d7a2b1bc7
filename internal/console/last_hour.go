package console

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/lag"
	"github.com/payfold/payfold/internal/minutes"
	"github.com/payfold/payfold/internal/report/chart"
	"github.com/payfold/payfold/internal/report/logreport"
	"github.com/payfold/payfold/internal/report/page"
)

// deliveries are the answers of ingest in the last hour. Nothing older is kept: ingest's metrics have the history.
type deliveries struct {
	Said    string           // how many had which answer, the most frequent first; empty: none came
	Answers []string         // their names, in the same order
	Minutes []deliveryMinute // in order, each of the last hour
	Drawing figure
}

type deliveryMinute struct {
	Begin           time.Time
	Stored, Refused uint64
	Counts          []uint64 // of each answer, in the order of their names
}

// deliveriesOf returns what ingest tells; nil if it tells nothing.
func deliveriesOf(ingest *logreport.Ingest, zone *time.Location) *deliveries {
	if ingest == nil {
		return nil
	}
	out := deliveries{Minutes: make([]deliveryMinute, minutes.Kept)}
	at := map[time.Time]map[string]uint64{}
	sums := ingest.Counts(minutes.Kept)
	for i := range out.Minutes {
		begin := minuteOf(ingest.At, i)
		out.Minutes[i].Begin, at[begin] = begin, map[string]uint64{}
	}
	for _, minute := range ingest.Answers {
		if counts := at[minute.Begin.UTC()]; counts != nil {
			maps.Copy(counts, minute.Answers)
		}
	}
	out.Answers = slices.SortedFunc(maps.Keys(sums), func(a, b string) int {
		return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b))
	})
	for i := range out.Minutes {
		out.Minutes[i].add(out.Answers, at[out.Minutes[i].Begin])
	}
	for i, answer := range out.Answers {
		out.Answers[i] = strings.ReplaceAll(page.Clean(answer), "_", " ")
		out.Said += fmt.Sprintf(", %d %s", sums[answer], out.Answers[i])
	}
	out.Said = strings.TrimPrefix(out.Said, ", ")
	out.draw(zone)
	return &out
}

// minuteOf is the beginning of a minute of the hour that ends with the one of now.
func minuteOf(now time.Time, i int) time.Time {
	return minutes.Begin(now).Add(time.Duration(i-minutes.Kept+1) * time.Minute)
}

func (m *deliveryMinute) add(answers []string, counts map[string]uint64) {
	for _, answer := range answers {
		count := counts[answer]
		m.Counts = append(m.Counts, count)
		if answer == "accepted" || answer == "duplicate" {
			m.Stored += count
		} else {
			m.Refused += count
		}
	}
}

func (d *deliveries) draw(zone *time.Location) {
	labels, stored, refused := make([]string, len(d.Minutes)), make([]float64, len(d.Minutes)), make([]float64, len(d.Minutes))
	for i, m := range d.Minutes {
		labels[i], stored[i], refused[i] = m.Begin.In(zone).Format("15:04"), float64(m.Stored), -float64(m.Refused)
	}
	d.Drawing = drawn(chart.Chart{
		Title: "Deliveries by minute", Description: "Stored ones are above zero, refused ones below. " + seeTable,
		Periods: labels, Whole: true, Label: countLabel,
		Bars: []chart.Series{{Name: "stored", Class: "gain", Values: stored}, {Name: "refused", Class: "lost", Values: refused}},
	})
}

// lagHour is how long events of the last hour waited until they were in the tables. Only this console has measured it.
type lagHour struct {
	Longest float64      // seconds
	Minutes []lag.Minute // in order, those in which it could be measured
	Drawing figure
}

// lagOf returns what was measured; nil if nobody measures. now is the end of the hour.
func lagOf(measure func() []lag.Minute, now time.Time, zone *time.Location) *lagHour {
	if measure == nil {
		return nil
	}
	out := lagHour{Minutes: measure()}
	labels, waited := make([]string, minutes.Kept), make([]float64, minutes.Kept)
	at := map[time.Time]int{}
	for i := range labels {
		begin := minuteOf(now, i)
		labels[i], waited[i], at[begin] = begin.In(zone).Format("15:04"), math.NaN(), i
	}
	for _, m := range out.Minutes {
		out.Longest = max(out.Longest, m.Seconds)
		if i, has := at[m.Begin]; has {
			waited[i] = m.Seconds
		}
	}
	out.Drawing = drawn(chart.Chart{
		Title: "Seconds until events are in the tables", Description: "The longest wait of each minute. " + seeTable,
		Periods: labels, Label: secondsLabel, Lines: []chart.Series{{Name: "longest wait, in seconds", Class: "line", Values: waited}},
	})
	return &out
}

func secondsLabel(value float64) string { return strconv.FormatFloat(value, 'g', 3, 64) }
