package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func digits(value float64) string { return fmt.Sprintf("%g", value) }

func drawn(t *rapid.T) Chart {
	places := rapid.IntRange(1, 60).Draw(t, "places")
	amount := rapid.OneOf(rapid.Just(0.0), rapid.Just(math.NaN()), rapid.Float64Range(-1e15, 1e15), rapid.Float64Range(-3, 3))
	values := rapid.SliceOfN(amount, places, places)
	c := Chart{Title: "t", Description: "d", Label: digits, Whole: rapid.Bool().Draw(t, "whole"), Periods: make([]string, places)}
	for i := range c.Periods {
		c.Periods[i] = strings.Repeat("1", rapid.IntRange(0, 12).Draw(t, "letters"))
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "bars") {
		c.Bars = append(c.Bars, Series{fmt.Sprint("bar", i), "bar", values.Draw(t, "values")})
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "lines") {
		c.Lines = append(c.Lines, Series{fmt.Sprint("line", i), "line", values.Draw(t, "values")})
	}
	return c
}

func TestEverythingIsWithinTheFrame(t *testing.T) {
	t.Parallel()
	const about = 1e-6
	rapid.Check(t, func(t *rapid.T) {
		l := drawn(t).layout()
		within := func(x, y float64) {
			require.True(t, x >= l.Left-about && x <= l.Right+about, "x %v", x)
			require.True(t, y >= l.Top-1-about && y <= l.Bottom+1+about, "y %v", y)
		}
		for _, r := range l.Rects {
			within(r.X, r.Y)
			within(r.X+r.Width, r.Y+r.Height)
			require.GreaterOrEqual(t, r.Height, 1-about, "every value can be seen")
			require.True(t, math.Abs(r.Y-l.Zero) < about || math.Abs(r.Y+r.Height-l.Zero) < about, "a bar stands on zero")
		}
		for _, p := range l.Paths {
			for _, at := range p.Points {
				within(at.X, at.Y)
			}
		}
		for _, tick := range l.Ticks {
			within(l.Left, tick.Y)
		}
		for i, label := range l.Labels[min(1, len(l.Labels)):] {
			if len(l.Labels) > maxLabels {
				half := func(m mark) float64 { return letter * float64(utf8.RuneCountInString(m.Text)) / 2 }
				require.Less(t, l.Labels[i].X+half(l.Labels[i]), label.X-half(label), "labels do not touch")
			}
		}
	})
}

func TestEachOfFewPeriodsHasALabel(t *testing.T) {
	t.Parallel()
	months := []string{"2026-12", "2027-01", "2027-09", "2027-10", "2027-11", "never"}
	values := Series{"credits", "gain", []float64{30000, 25000, 6000, 8000, 4000, 126000}}
	require.Len(t, Chart{Label: digits, Periods: months, Bars: []Series{values}}.layout().Labels, len(months))
	days := slices.Repeat([]string{"11-08"}, 30)
	require.Len(t, Chart{Label: digits, Periods: days}.layout().Labels, maxLabels)
}

// Heights are in proportion to the values.
func TestBarsAreAsHighAsTheirValues(t *testing.T) {
	t.Parallel()
	l := Chart{Label: digits, Periods: []string{"1", "2", "3"}, Bars: []Series{{"net", "bar", []float64{400, -200, 100}}}}.layout()
	require.Len(t, l.Rects, 3)
	require.InDelta(t, l.Rects[0].Height, 2*l.Rects[1].Height, 1e-9)
	require.InDelta(t, l.Rects[0].Height, 4*l.Rects[2].Height, 1e-9)
	require.InDelta(t, l.Zero, l.Rects[1].Y, 1e-9, "a negative value is below zero")
	require.InDelta(t, l.Zero, l.Rects[0].Y+l.Rects[0].Height, 1e-9)
	require.Less(t, l.Rects[0].X+l.Rects[0].Width, l.Rects[1].X)
}

func TestTicksAreRoundAndCoverTheValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-1e15, 0).Draw(t, "low")
		high := rapid.Float64Range(0, 1e15).Draw(t, "high")
		if high-low < 1e-6 {
			low, high = 0, 0
		}
		whole := rapid.Bool().Draw(t, "whole")
		ticks := Ticks(low, high, maxTicks, whole)
		require.GreaterOrEqual(t, len(ticks), 2)
		require.LessOrEqual(t, len(ticks), maxTicks+1)
		require.Contains(t, ticks, 0.0)
		require.LessOrEqual(t, ticks[0], low+1e-6)
		require.GreaterOrEqual(t, ticks[len(ticks)-1], high*(1-1e-9))
		step := ticks[1] - ticks[0]
		mantissa := step / math.Pow(10, math.Floor(math.Log10(step)+1e-9))
		require.Contains(t, []float64{1, 2, 5}, math.Round(mantissa*1e6)/1e6)
		if whole {
			require.GreaterOrEqual(t, step, 1.0)
		}
	})
}

func TestNoValuesOneValueAndOnlyZeros(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]float64{"none": {}, "one": {7}, "zeros": {0, 0, 0}, "nothing known": {math.NaN(), math.NaN()}} {
		t.Run(name, func(t *testing.T) {
			l := Chart{
				Label: digits, Whole: true, Periods: make([]string, len(values)),
				Bars: []Series{{"b", "bar", values}}, Lines: []Series{{"l", "line", values}},
			}.layout()
			require.GreaterOrEqual(t, len(l.Ticks), 2)
			for _, tick := range l.Ticks {
				require.False(t, math.IsNaN(tick.Y) || math.IsInf(tick.Y, 0))
			}
		})
	}
}

func TestALineHasGapsWhereNothingIsKnown(t *testing.T) {
	t.Parallel()
	l := Chart{Label: digits, Periods: make([]string, 5), Lines: []Series{{"l", "line", []float64{1, math.NaN(), 2, 3, math.NaN()}}}}.layout()
	require.Len(t, l.Paths, 2)
	require.Len(t, l.Paths[0].Points, 1)
	require.Len(t, l.Paths[1].Points, 2)
}

func TestADrawingIsXMLAndEscapesItsTexts(t *testing.T) {
	t.Parallel()
	const hostile = `"><script>alert(1)</script>&`
	svg, err := Chart{
		Title: hostile, Description: hostile, Label: func(float64) string { return hostile }, Periods: []string{hostile},
		Bars: []Series{{hostile, "bar", []float64{-1}}}, Lines: []Series{{hostile, "line", []float64{2}}},
	}.SVG()
	require.NoError(t, err)
	require.NotContains(t, string(svg), "<script")
	elements := map[string]int{}
	for decoder := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if start, is := token.(xml.StartElement); is {
			elements[start.Name.Local]++
		}
	}
	require.Equal(t, 3, elements["title"], "of the drawing, the bar and the point")
	require.Equal(t, 1, elements["desc"])
	require.Equal(t, 1, elements["polyline"])
}
