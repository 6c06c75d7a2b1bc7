package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/report/status"
)

var noon = time.Date(2021, 3, 1, 12, 0, 0, 0, time.UTC)

// pageAt is a status, so many seconds after noon.
func pageAt(second int, applied int64, lag uint64) status.Status {
	return status.Status{
		Log: &status.Log{Head: uint64(applied) + lag},
		Database: &status.Database{
			At: noon.Add(time.Duration(second) * time.Second), EventCounts: &status.EventCounts{Duplicates: 1, Outcomes: []status.OutcomeCount{{Outcome: "applied", Events: applied - 1}}},
		},
		Lag: &status.Lag{Events: lag, Oldest: &noon},
	}
}

var withoutDatabase = status.Status{DatabaseFault: "the database does not answer"}

// show shows these pages and then ends.
func show(t *testing.T, out io.Writer, asJSON bool, pages ...status.Status) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.NoError(t, Watch{
		Read: func(context.Context) status.Status {
			next := pages[0]
			pages = pages[1:]
			return next
		},
		Pause: func(context.Context) {
			if len(pages) == 0 {
				cancel()
			}
		},
		Now: func() time.Time { return noon }, Out: out, JSON: asJSON,
	}.Run(ctx))
}

const header = "projector status at 2021-03-01 12:00:00Z; Ctrl-C ends it\n\n"

func TestPagesFollowEachOtherWithTheRate(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	show(t, &out, false, pageAt(0, 10, 100), pageAt(2, 30, 80))
	pages := strings.Split(out.String(), header)
	require.Len(t, pages, 3)
	require.Empty(t, pages[0])
	require.True(t, strings.HasSuffix(pages[1], "\n\n") && !strings.HasSuffix(pages[2], "\n\n"), "an empty line between two pages")
	require.NotContains(t, out.String(), "\x1b")
	require.Regexp(t, `lag +100 events,`, pages[1])
	require.NotContains(t, pages[1], "events/s")
	require.Regexp(t, `lag +80 events,`, pages[2])
	require.Regexp(t, `rate +10\.0 events/s\n +estimate +no lag in about 8s, if it goes on like this\n`, pages[2])
}

func TestOnATerminalAPageTakesThePlaceOfTheOneBefore(t *testing.T) {
	t.Parallel()
	screen, terminal, err := pty.Open()
	require.NoError(t, err)
	defer screen.Close()
	defer terminal.Close()
	const end = "the end"
	shown := make(chan string, 1)
	go func() {
		var text bytes.Buffer
		for buffer := make([]byte, 4096); !strings.Contains(text.String(), end); {
			n, err := screen.Read(buffer)
			if text.Write(buffer[:n]); err != nil {
				break
			}
		}
		shown <- strings.ReplaceAll(text.String(), "\r\n", "\n")
	}()
	show(t, terminal, false, pageAt(0, 10, 100), pageAt(2, 30, 80))
	_, err = terminal.WriteString(end)
	require.NoError(t, err)
	pages := strings.Split(<-shown, clearScreen+header)
	require.Len(t, pages, 3)
	require.Empty(t, pages[0])
	require.Regexp(t, `lag +100 events,`, pages[1])
	require.Regexp(t, `lag +80 events,`, pages[2])
}

func TestAWatchGoesOnWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	show(t, &out, false, pageAt(0, 10, 100), withoutDatabase, pageAt(4, 50, 60))
	pages := strings.Split(out.String(), header)
	require.Len(t, pages, 4)
	require.Contains(t, pages[2], "DATABASE\n  the database does not answer\n")
	require.Regexp(t, `rate +10\.0 events/s`, pages[3], "since the last page with a database")

	out.Reset()
	show(t, &out, true, pageAt(0, 10, 100), withoutDatabase, pageAt(4, 50, 60))
	var paces []*status.Pace
	for decoder := json.NewDecoder(&out); decoder.More(); {
		var page status.Status
		require.NoError(t, decoder.Decode(&page))
		paces = append(paces, page.Pace)
	}
	left := 6.0
	require.Equal(t, []*status.Pace{nil, nil, {Seconds: 4, EventsPerSecond: 10, SecondsLeft: &left}}, paces)
}

func TestWhatCannotBeComparedHasNoRateAndALagThatGrowsNoEstimate(t *testing.T) {
	t.Parallel()
	promoted, logAway := pageAt(2, 30, 80), pageAt(2, 30, 80)
	promoted.Database.Live.CreatedAt = noon
	logAway.Lag = nil
	for name, c := range map[string]struct {
		last, now status.Status
		shows     string // in place of the rate and the estimate
	}{
		"it grows":           {pageAt(0, 10, 100), pageAt(2, 30, 120), "  rate +10.0 events/s\n +estimate +none: the lag does not shrink\n"},
		"nothing moves":      {pageAt(0, 10, 100), pageAt(2, 10, 100), "  rate +0.0 events/s\n +estimate +none: the lag does not shrink\n"},
		"it is over":         {pageAt(0, 10, 100), pageAt(2, 110, 0), "  rate +50.0 events/s\n"},
		"the log is away":    {pageAt(0, 10, 100), logAway, "  rate +10.0 events/s\n"},
		"other tables":       {pageAt(0, 10, 100), promoted, ""},
		"fewer rows":         {pageAt(0, 10, 100), pageAt(2, 5, 100), ""},
		"the clock is stuck": {pageAt(2, 10, 100), pageAt(2, 30, 80), ""},
	} {
		var out bytes.Buffer
		show(t, &out, false, c.last, c.now)
		_, second, _ := strings.Cut(strings.TrimPrefix(out.String(), header), header)
		require.Regexp(t, `(?m)^  lag .*\n`+c.shows+`  newest position`, second, name)
	}
}

func TestAWatchEndsWhereItCannotWrite(t *testing.T) {
	t.Parallel()
	out, err := os.Create(t.TempDir() + "/out")
	require.NoError(t, err)
	require.NoError(t, out.Close())
	err = Watch{
		Read: func(context.Context) status.Status { return pageAt(0, 1, 0) }, Now: time.Now, Out: out,
	}.Run(t.Context())
	require.ErrorIs(t, err, os.ErrClosed)
}
