package catalogue

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// emptyDocument is a line --- that another one follows. The YAML library drops all that comes after them.
var emptyDocument = regexp.MustCompile(`(?m)^---[ \t]*(#.*)?(\r?\n[ \t]*(#.*)?)*\r?\n---`)

// Parse reads a catalogue. The error lists all of its faults, one a line.
func Parse(text []byte) (*Catalogue, error) {
	var written file
	decoder := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict())
	if err := decoder.Decode(&written); err != nil && !errors.Is(err, io.EOF) {
		return nil, unreadable(err)
	}
	c := &Catalogue{Version: int(written.Version), products: map[string][]Offer{}}
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
	c.ID = c.Summary().ID()
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

// wholeNumber refuses 5.5, which the YAML library would turn into 5.
type wholeNumber int64

func (n *wholeNumber) UnmarshalYAML(node ast.Node) error {
	if node.Type() == ast.FloatType {
		return &yaml.TypeError{DstType: reflect.TypeFor[int64](), Token: node.GetToken()}
	}
	return yaml.NodeToValue(node, (*int64)(n))
}
