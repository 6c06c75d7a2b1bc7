package catalogue

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// MaxCredits bounds what one unit of a product grants.
const MaxCredits = 1_000_000_000_000

// maxMonths bounds a drip and a validity. A hundred years must be a mistake.
const maxMonths = 1200

// emptyDocument is a line --- that another one follows. The YAML library drops all that comes after them.
var emptyDocument = regexp.MustCompile(`(?m)^---[ \t]*(#.*)?(\r?\n[ \t]*(#.*)?)*\r?\n---`)

// Parse reads a catalogue. The error lists all of its faults, one a line.
func Parse(text []byte) (*Catalogue, error) {
	var written file
	decoder := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict())
	if err := decoder.Decode(&written); err != nil && !errors.Is(err, io.EOF) {
		return nil, unreadable(err)
	}
	sum := sha256.Sum256(text)
	c := &Catalogue{Version: int(written.Version), Digest: hex.EncodeToString(sum[:8]), products: map[string][]Offer{}}
	var faults []error
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) || emptyDocument.Match(text) {
		faults = append(faults, errors.New("something follows the line ---, which ends the catalogue"))
	}
	if written.Version < 1 {
		faults = append(faults, errors.New("version must be a whole number from 1"))
	}
	if len(written.Products) == 0 {
		faults = append(faults, errors.New("products is empty"))
	}
	for _, key := range slices.Sorted(maps.Keys(written.Products)) {
		product := string(key)
		var offers []Offer
		for i, one := range written.Products[key] {
			offer, wrong := one.offer()
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

type file struct {
	Version  wholeNumber              `yaml:"version"`
	Products map[productKey]offerList `yaml:"products"`
}

// productKey refuses 123, which the YAML library would turn into the character with this number.
type productKey string

func (k *productKey) UnmarshalYAML(node ast.Node) error {
	if at := node.GetToken().Position; node.Type() != ast.StringType {
		return fmt.Errorf("[%d:%d] product %s must be in quotes", at.Line, at.Column, node)
	}
	return yaml.NodeToValue(node, (*string)(k))
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
	From        string       `yaml:"from"`
	Kind        string       `yaml:"kind"`
	Credits     *wholeNumber `yaml:"credits"`
	Drip        string       `yaml:"drip"`
	Months      *wholeNumber `yaml:"months"`
	ValidMonths *wholeNumber `yaml:"valid_months"`
}

// wholeNumber refuses 5.5, which the YAML library would turn into 5.
type wholeNumber int64

func (n *wholeNumber) UnmarshalYAML(node ast.Node) error {
	if node.Type() == ast.FloatType {
		return &yaml.TypeError{DstType: reflect.TypeFor[int64](), Token: node.GetToken()}
	}
	return yaml.NodeToValue(node, (*int64)(n))
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
	case OneTime:
		if w.Credits == nil {
			fault("a one_time product must have credits")
		}
	case Subscription:
	case Pro:
		if w.Credits != nil {
			fault("a pro product grants a licence and no credits")
		}
	default:
		fault("kind is %q, must be subscription, one_time or pro", w.Kind)
	}
	if w.Credits != nil {
		if offer.Credits = int64(*w.Credits); offer.Credits < 1 || offer.Credits > MaxCredits {
			fault("credits is %d, must be 1 to %d", offer.Credits, int64(MaxCredits))
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
		offer.Months = int64(*w.Months)
	}
	if w.ValidMonths != nil {
		if offer.ValidMonths = int64(*w.ValidMonths); offer.ValidMonths < 1 || offer.ValidMonths > maxMonths {
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
