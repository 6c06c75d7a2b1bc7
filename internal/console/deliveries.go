package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/report/chart"
	"github.com/payfold/payfold/internal/report/logreport"
	"github.com/payfold/payfold/internal/report/page"
)

// deliveryMinutes is how many minutes ingest counts its answers by.
const deliveryMinutes = 15

// deliveries are the answers of ingest in its last minutes. Nothing older is kept: ingest's metrics have the history.
type deliveries struct {
	Said    string           // how many had which answer, the most frequent first; empty: none came
	Minutes []deliveryMinute // in order, each of the last minutes
	Drawing figure
}

type deliveryMinute struct {
	Begin           time.Time
	Stored, Refused uint64
}

// deliveriesOf returns what ingest tells; nil if it tells nothing.
func deliveriesOf(ingest *logreport.Ingest, zone *time.Location) *deliveries {
	if ingest == nil {
		return nil
	}
	out := deliveries{Minutes: make([]deliveryMinute, deliveryMinutes)}
	first := ingest.At.Truncate(time.Minute).Add(-(deliveryMinutes - 1) * time.Minute)
	for i := range out.Minutes {
		out.Minutes[i].Begin = first.Add(time.Duration(i) * time.Minute)
	}
	counts := map[string]uint64{}
	for _, minute := range ingest.Answers {
		i := int(minute.Begin.Sub(first) / time.Minute)
		if minute.Begin.Before(first) || i >= deliveryMinutes {
			continue
		}
		for answer, count := range minute.Answers {
			counts[answer] += count
			if answer == "accepted" || answer == "duplicate" {
				out.Minutes[i].Stored += count
			} else {
				out.Minutes[i].Refused += count
			}
		}
	}
	out.Said = mostFirst(counts)
	out.draw(zone)
	return &out
}

func mostFirst(counts map[string]uint64) string {
	var answers []string
	for answer := range counts {
		answers = append(answers, answer)
	}
	slices.SortFunc(answers, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	for i, answer := range answers {
		answers[i] = fmt.Sprintf("%d %s", counts[answer], strings.ReplaceAll(page.Clean(answer), "_", " "))
	}
	return strings.Join(answers, ", ")
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
