// Package chart draws small charts as SVG. A drawing has no scripts and no styles: the page's style sheet colours its
// classes. Its numbers belong into a table beside it, because a drawing is one image to a screen reader.
package chart

import (
	"bytes"
	_ "embed"
	"html/template"
	"math"
	"unicode/utf8"
)

// Chart shows series over periods, each at the same places.
type Chart struct {
	Title       string
	Description string   // what can be seen, in a sentence
	Periods     []string // the labels of the places, in order
	Bars        []Series
	Lines       []Series
	Whole       bool                 // values are whole numbers, so ticks are, too
	Label       func(float64) string // of a tick's value
}

// Series has one value for each period. NaN is no value.
type Series struct {
	Name   string
	Class  string // in the style sheet
	Values []float64
}

// The size of a drawing, in units that are pixels in a window of 390 px.
const (
	width        = 360.0
	height       = 200.0
	top          = 26.0 // of the plot; the legend is above
	bottom       = 176.0
	right        = width - 8
	letter       = 6.2 // the width of a letter, roughly
	digit        = 7.0 // the width of a digit, at most
	letterHeight = 4.0 // from the middle of a line of text to its base
	maxTicks     = 5
	maxLabels    = 4 // where there is no room for all
)

//go:embed chart.svg
var source string

var drawing = template.Must(template.New("chart").Parse(source))

// SVG returns the drawing.
func (c Chart) SVG() (template.HTML, error) {
	var out bytes.Buffer
	if err := drawing.Execute(&out, c.layout()); err != nil {
		return "", err
	}
	return template.HTML(out.String()), nil
}

type layout struct {
	Chart
	Width, Height, Left, Right, Top, Bottom, Zero float64
	Ticks                                         []mark
	Labels                                        []mark
	Legend                                        []key
	Rects                                         []rect
	Paths                                         []path
}

// mark is a text at a place of an axis.
type mark struct {
	X, Y, Value float64
	Text        string
}

type key struct {
	X, TextX    float64
	Class, Name string
	Line        bool
}

type rect struct {
	X, Y, Width, Height float64
	Class, Title        string
}

// path is one line without gaps.
type path struct {
	Class  string
	Points []point
}

type point struct {
	X, Y  float64
	Title string
}

func (c Chart) layout() layout {
	out := layout{Chart: c, Width: width, Height: height, Right: right, Top: top, Bottom: bottom}
	low, high := c.extent()
	ticks := Ticks(low, high, maxTicks, c.Whole)
	low, high = ticks[0], ticks[len(ticks)-1]
	y := func(value float64) float64 { return bottom - (value-low)/(high-low)*(bottom-top) }
	for _, value := range ticks {
		text := c.Label(value)
		out.Left = max(out.Left, digit*float64(utf8.RuneCountInString(text))+6)
		out.Ticks = append(out.Ticks, mark{Y: y(value), Value: value, Text: text})
	}
	out.Left, out.Zero = min(out.Left, width/2), y(0)
	for i := range out.Ticks {
		out.Ticks[i].X = out.Left - 4
	}
	out.place(y)
	return out
}

// place places what has a period, and the legend.
func (l *layout) place(y func(float64) float64) {
	place := (right - l.Left) / float64(max(1, len(l.Periods)))
	each := max(1, int(math.Ceil(float64(len(l.Periods))/maxLabels)))
	if l.fit(place) {
		each = 1
	}
	for i, text := range l.Periods {
		if i%each == 0 {
			l.Labels = append(l.Labels, mark{X: l.Left + (float64(i)+.5)*place, Y: bottom + 16, Text: text})
		}
	}
	for _, s := range l.Bars {
		for i, value := range s.Values {
			if math.IsNaN(value) || value == 0 {
				continue
			}
			from, to := y(max(value, 0)), y(min(value, 0))
			if to-from < 1 { // any value can be seen
				if from, to = l.Zero-1, l.Zero; value < 0 {
					from, to = l.Zero, l.Zero+1
				}
			}
			x := l.Left + (float64(i)+.15)*place
			l.Rects = append(l.Rects, rect{x, from, .7 * place, to - from, s.Class, l.title(s, i)})
		}
	}
	for _, s := range l.Lines {
		gap := true
		for i, value := range s.Values {
			if math.IsNaN(value) {
				gap = true
				continue
			}
			if gap {
				l.Paths = append(l.Paths, path{Class: s.Class})
				gap = false
			}
			last := &l.Paths[len(l.Paths)-1]
			last.Points = append(last.Points, point{l.Left + (float64(i)+.5)*place, y(value), l.title(s, i)})
		}
	}
	x := l.Left
	for i, s := range append(append([]Series{}, l.Bars...), l.Lines...) {
		l.Legend = append(l.Legend, key{x, x + 14, s.Class, s.Name, i >= len(l.Bars)})
		x += 26 + letter*float64(utf8.RuneCountInString(s.Name))
	}
}

// fit reports whether the labels of all periods have room beside each other.
func (l *layout) fit(place float64) bool {
	for _, text := range l.Periods {
		if letter*float64(utf8.RuneCountInString(text))+4 > place {
			return false
		}
	}
	return true
}

func (l *layout) title(s Series, i int) string {
	text := s.Name + ": " + l.Label(s.Values[i])
	if i < len(l.Periods) {
		return l.Periods[i] + ", " + text
	}
	return text
}

// extent returns the lowest and the highest value; 0 is between them.
func (c Chart) extent() (low, high float64) {
	for _, list := range [][]Series{c.Bars, c.Lines} {
		for _, s := range list {
			for _, value := range s.Values {
				if !math.IsNaN(value) && !math.IsInf(value, 0) {
					low, high = min(low, value), max(high, value)
				}
			}
		}
	}
	return low, high
}

// Ticks returns round values at equal distances, from low or below to high or above. 0 is one of them. There are at least
// two, and at most one more than most. Their distance is 1, 2 or 5 times a power of ten, and at least 1 if whole is true.
func Ticks(low, high float64, most int, whole bool) []float64 {
	low, high = min(low, 0), max(high, 0)
	if low == high {
		high = 1
	}
	step := roundStep((high - low) / float64(max(1, most-1)))
	if whole {
		step = max(1, step)
	}
	var out []float64
	for i := math.Floor(low / step); i < math.Ceil(high/step)+.5; i++ {
		out = append(out, i*step)
	}
	return out
}

// roundStep returns the smallest round distance that is not less than wanted.
func roundStep(wanted float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(wanted)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= wanted*(1-1e-9) {
			return factor * power
		}
	}
	return 10 * power
}

// Middle is where the text of a mark begins, below its middle.
func (m mark) Middle() float64 { return m.Y + letterHeight }
