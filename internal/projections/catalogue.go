package projections

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/payfold/payfold/internal/events"
)

// Catalogue says what each product grants. So a buyer who edits the metadata of a checkout
// link gets nothing more. Only claims use it.
type Catalogue struct {
	Version  int
	digest   string
	products map[string][]Offer // by product key; the latest offer first
}

// Offer is what a product grants from a certain time on.
type Offer struct {
	From        time.Time // zero: always
	Kind        Kind
	Credits     int64 // of each ledger line, for one unit; 0: none
	Months      int64 // ledger lines, one a month; 1 without a drip
	ValidMonths int64 // until the credits expire; 0: never
}

// maxMonths bounds a drip and a validity. A hundred years must be a mistake.
const maxMonths = 1200

func (o *Offer) credits() events.Number {
	if o == nil || o.Credits == 0 {
		return events.Number{}
	}
	return events.Number{Value: o.Credits, Present: true}
}

func (o *Offer) lines() int64 {
	if o == nil {
		return 1
	}
	return o.Months
}

func (o *Offer) validMonths() int64 {
	if o == nil {
		return 0
	}
	return o.ValidMonths
}

// sells reports whether the catalogue has any offer of the product.
func (c *Catalogue) sells(product string) bool {
	return c != nil && len(c.products[product]) > 0
}

// offer returns the product's offer at that time; nil if there is none.
func (c *Catalogue) offer(product string, at time.Time) *Offer {
	if c == nil {
		return nil
	}
	offers := c.products[product]
	for i := range offers {
		if !offers[i].From.After(at) {
			return &offers[i]
		}
	}
	return nil
}

// ParseCatalogue reads a catalogue. The error lists all of its faults, one a line.
func ParseCatalogue(text []byte) (*Catalogue, error) {
	var file catalogueFile
	if err := yaml.UnmarshalWithOptions(text, &file, yaml.Strict()); err != nil {
		return nil, errors.New(yaml.FormatError(err, false, false))
	}
	sum := sha256.Sum256(text)
	c := &Catalogue{Version: file.Version, digest: hex.EncodeToString(sum[:8]), products: map[string][]Offer{}}
	var faults []error
	if file.Version < 1 {
		faults = append(faults, errors.New("version must be a whole number from 1"))
	}
	if len(file.Products) == 0 {
		faults = append(faults, errors.New("products is empty"))
	}
	for _, product := range slices.Sorted(maps.Keys(file.Products)) {
		var offers []Offer
		for i, written := range file.Products[product] {
			offer, wrong := written.offer()
			for _, fault := range wrong {
				faults = append(faults, fmt.Errorf("product %s, offer %d: %w", product, i+1, fault))
			}
			offers = append(offers, offer)
		}
		slices.SortStableFunc(offers, func(a, b Offer) int { return b.From.Compare(a.From) })
		for i := 1; i < len(offers); i++ {
			if offers[i].From.Equal(offers[i-1].From) {
				faults = append(faults, fmt.Errorf("product %s has two offers from the same day", product))
			}
		}
		if len(offers) == 0 {
			faults = append(faults, fmt.Errorf("product %s has no offer", product))
		}
		c.products[product] = offers
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return c, nil
}

type catalogueFile struct {
	Version  int                  `yaml:"version"`
	Products map[string]offerList `yaml:"products"`
}

// offerList is written as one offer or as a list of offers with dates.
type offerList []writtenOffer

func (l *offerList) UnmarshalYAML(node ast.Node) error {
	if _, several := node.(*ast.SequenceNode); several {
		return yaml.NodeToValue(node, (*[]writtenOffer)(l), yaml.Strict())
	}
	var one writtenOffer
	if err := yaml.NodeToValue(node, &one, yaml.Strict()); err != nil {
		return err
	}
	*l = offerList{one}
	return nil
}

type writtenOffer struct {
	From        string `yaml:"from"`
	Kind        string `yaml:"kind"`
	Credits     *int64 `yaml:"credits"`
	Drip        string `yaml:"drip"`
	Months      *int64 `yaml:"months"`
	ValidMonths *int64 `yaml:"valid_months"`
}

func (w writtenOffer) offer() (offer Offer, faults []error) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	offer = Offer{Kind: w.Kind, Months: 1}
	if w.From != "" {
		var err error
		if offer.From, err = parseFrom(w.From); err != nil {
			fault("from is %q, which is neither a day (2026-03-01) nor an RFC 3339 time", w.From)
		}
	}
	switch w.Kind {
	case KindOneTime:
		if w.Credits == nil {
			fault("a one_time product must have credits")
		}
	case KindSubscription:
	case KindPro:
		if w.Credits != nil {
			fault("a pro product grants a licence and no credits")
		}
	default:
		fault("kind is %q, which is none of subscription, one_time, pro", w.Kind)
	}
	if w.Credits != nil {
		if offer.Credits = *w.Credits; offer.Credits < 1 || offer.Credits > maxCredits {
			fault("credits is %d, must be 1 to %d", offer.Credits, int64(maxCredits))
		}
	}
	switch {
	case w.Drip == "" && w.Months != nil:
		fault("months needs drip: monthly")
	case w.Drip == "":
	case w.Drip != "monthly":
		fault("drip is %q, which is not monthly", w.Drip)
	case w.Months == nil || *w.Months < 1 || *w.Months > maxMonths:
		fault("a drip needs months, 1 to %d", maxMonths)
	case w.Credits == nil:
		fault("a drip needs credits")
	default:
		offer.Months = *w.Months
	}
	if w.ValidMonths != nil {
		if offer.ValidMonths = *w.ValidMonths; offer.ValidMonths < 1 || offer.ValidMonths > maxMonths {
			fault("valid_months is %d, must be 1 to %d", offer.ValidMonths, maxMonths)
		}
	}
	return offer, faults
}

func parseFrom(text string) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	return t.UTC().Truncate(time.Microsecond), err
}
