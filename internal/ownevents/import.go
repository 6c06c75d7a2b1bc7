package ownevents

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
)

// Line is one line of a CSV file, as an event.
type Line struct {
	Number int // in the file, from 1
	What   string
	Event  Event
}

// What a line can be.
const (
	ASubscription = "subscription"
	ABalance      = "balance"
	ALicence      = "licence"
)

// columns are the columns that a file may have. Each kind of line uses some; those marked with ! are required.
var columns = map[string]string{
	ASubscription: "user! customer subscription! product status! period_start period_end! time",
	ABalance:      "user! customer credits! expires time",
	ALicence:      "user! customer payment product! github_username time",
}

// Importer reads the subscribers, balances and licences of before.
type Importer struct {
	Catalogue *catalogue.Catalogue // nil: products are not checked
	Exported  time.Time            // the time of the lines that have none; zero: each line needs one
	Now       time.Time
}

// Fault is what is wrong with a line.
type Fault struct {
	Line int
	Err  error
}

func (f Fault) Error() string { return fmt.Sprintf("line %d: %v", f.Line, f.Err) }

// Read reads all lines. Equal lines give equal events, so a file can be imported again. If there is any fault, nothing of
// the file may be sent.
func (m Importer) Read(file io.Reader) ([]Line, []Fault) {
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, []Fault{{1, err}}
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return nil, []Fault{{1, errors.New("the file is UTF-16: save it as CSV in UTF-8")}}
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = -1
	if first, _, _ := bytes.Cut(text, []byte("\n")); bytes.Contains(first, []byte(";")) && !bytes.Contains(first, []byte(",")) {
		r.Comma = ';'
	}
	header, err := r.Read()
	if err != nil {
		return nil, []Fault{{1, fmt.Errorf("there is no first line with the names of the columns: %w", err)}}
	}
	if err := checkHeader(header); err != nil {
		return nil, []Fault{{1, err}}
	}
	return m.lines(r, header)
}

func (m Importer) lines(r *csv.Reader, header []string) (lines []Line, faults []Fault) {
	seen := map[string]int{} // the line of each thing
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var wrong *csv.ParseError
		if errors.As(err, &wrong) {
			faults = append(faults, Fault{wrong.StartLine, wrong.Err})
			continue
		}
		if err != nil {
			return nil, append(faults, Fault{1, err})
		}
		number, _ := r.FieldPos(0)
		line, thing, errs := m.line(header, record)
		if before := seen[thing]; thing != "" && before != 0 {
			errs = append(errs, fmt.Errorf("line %d is about the same %s", before, line.What))
		}
		seen[thing] = number
		for _, err := range errs {
			faults = append(faults, Fault{number, err})
		}
		line.Number = number
		lines = append(lines, line)
	}
	if len(lines) == 0 && len(faults) == 0 {
		faults = []Fault{{1, errors.New("no line follows the names of the columns")}}
	}
	return lines, faults
}

func checkHeader(header []string) error {
	known := []string{"what"}
	for _, of := range columns {
		known = append(known, strings.Fields(strings.ReplaceAll(of, "!", ""))...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for i, name := range header {
		switch {
		case !slices.Contains(known, name):
			return fmt.Errorf("there is no column %q; the columns are %s", name, strings.Join(known, ", "))
		case slices.Contains(header[:i], name):
			return fmt.Errorf("the column %s comes twice", name)
		}
	}
	if !slices.Contains(header, "what") {
		return fmt.Errorf("there is no column what, which is %s, %s or %s", ASubscription, ABalance, ALicence)
	}
	return nil
}

// line returns the event of a record, what identifies the thing that it is about, and all that is wrong with it.
func (m Importer) line(header, record []string) (line Line, thing string, errs []error) {
	if len(record) != len(header) {
		return line, "", []error{fmt.Errorf("it has %d fields, and the first line has %d", len(record), len(header))}
	}
	values := map[string]string{}
	for i, name := range header {
		if err := CheckText(name, record[i]); err != nil {
			errs = append(errs, err)
		}
		values[name] = record[i]
	}
	line.What = values["what"]
	allowed, known := columns[line.What]
	if !known {
		return line, "", append(errs, fmt.Errorf("what is %q, must be %s, %s or %s", line.What, ASubscription, ABalance, ALicence))
	}
	of := strings.Fields(allowed)
	for _, name := range header {
		switch {
		case name == "what":
		case slices.Contains(of, name+"!"):
			if values[name] == "" {
				errs = append(errs, fmt.Errorf("%s is empty", name))
			}
		case values[name] != "" && !slices.Contains(of, name):
			errs = append(errs, fmt.Errorf("a %s has no %s", line.What, name))
		}
	}
	for _, name := range of {
		if name, required := strings.CutSuffix(name, "!"); required && !slices.Contains(header, name) {
			errs = append(errs, fmt.Errorf("there is no column %s", name))
		}
	}
	if len(errs) > 0 {
		return line, "", errs
	}
	line.Event, thing, errs = m.event(line.What, values)
	if len(errs) == 0 {
		if err := line.Event.Check(); err != nil {
			errs = append(errs, err)
		}
	}
	return line, thing, errs
}

// event returns the event of a line whose required values are there.
func (m Importer) event(what string, values map[string]string) (e Event, thing string, errs []error) {
	add := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	moment := func(name string) (t time.Time) {
		if values[name] != "" {
			var err error
			t, err = ParseTime(name, values[name])
			add(err)
		}
		return t
	}
	e = Event{User: values["user"], Customer: values["customer"], Product: values["product"], Time: moment("time")}
	if values["time"] == "" {
		e.Time = m.Exported
	}
	if e.Time.IsZero() && len(errs) == 0 {
		add(errors.New("time is empty; --exported says when the file was exported"))
	}
	if e.Time.After(m.Now) {
		add(fmt.Errorf("time is %s, which is in the future", e.Time.Format(time.RFC3339)))
	}
	if e.Product != "" {
		kind, err := KindOf(m.Catalogue, e.Product, e.Time)
		add(err)
		if what == ALicence && kind != "" && kind != catalogue.Pro {
			add(fmt.Errorf("the product %q is of the kind %s in the catalogue, and not a licence", e.Product, kind))
		}
		if what == ASubscription && (kind == catalogue.OneTime || kind == catalogue.None) { // it would give nothing
			add(fmt.Errorf("the product %q is of the kind %s in the catalogue, and not a subscription", e.Product, kind))
		}
	}
	switch what {
	case ASubscription:
		e.Type, e.Subscription, e.Status = Subscription, values["subscription"], values["status"]
		e.PeriodStart, e.PeriodEnd = moment("period_start"), moment("period_end")
		add(checkSubscription(&e))
		thing = what + " " + e.Subscription
	case ABalance:
		e.Type, e.ExpiresAt = Gift, moment("expires")
		var err error
		e.Credits, err = parseCredits(values["credits"])
		add(err)
		if !e.ExpiresAt.IsZero() && !e.ExpiresAt.After(e.Time) {
			add(fmt.Errorf("expires is %s, which is before the time of the line", values["expires"]))
		}
		e.Payment = hashed("balance", e.User, e.ExpiresAt.Format(time.RFC3339Nano))
		thing = e.Payment
	case ALicence:
		e.Type, e.Kind, e.Payment, e.GitHubUsername = Payment, catalogue.Pro, values["payment"], values["github_username"]
		if e.Payment == "" {
			e.Payment = hashed("licence", e.User, e.Product)
		}
		thing = what + " " + e.Payment
	}
	e.Identify("import", "", false)
	return e, thing, errs
}

// imported are the statuses of a subscription that can be imported.
var imported = []string{events.Active, events.Trialing, events.PastDue, events.Paused, events.ScheduledCancel}

func checkSubscription(e *Event) error {
	switch {
	case !slices.Contains(imported, e.Status):
		return fmt.Errorf("status is %q, must be one of %s", e.Status, strings.Join(imported, ", "))
	case e.PeriodEnd.IsZero(): // a fault already
	case !e.PeriodStart.IsZero() && !e.PeriodEnd.After(e.PeriodStart):
		return errors.New("period_end is not after period_start")
	case !e.PeriodEnd.After(e.Time) && e.Status != events.PastDue && e.Status != events.Paused:
		return fmt.Errorf("the subscription is %s, and its period had ended before the time of the line", e.Status)
	}
	return nil
}
