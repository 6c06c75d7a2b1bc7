package catalogue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Summary says product by product what the rules read of a catalogue. So two catalogues can be compared without their
// files. Names and prices, which no rule reads, are not part of it.
type Summary struct {
	Version  int               `json:"version"`
	Products map[string]string `json:"products"` // product key → hash of its offers
}

// Summary returns the summary of the catalogue.
func (c *Catalogue) Summary() Summary {
	s := Summary{c.Version, make(map[string]string, len(c.products))}
	for product, offers := range c.products {
		text, err := json.Marshal(offers)
		if err != nil { // an Offer has only times of the years 0 to 9999, texts, numbers and truth values
			panic(err)
		}
		s.Products[product] = shortHash(text)
	}
	return s
}

// ID identifies all of it: the catalogue's own version, and a hash.
func (s Summary) ID() string {
	var text []byte
	for _, product := range slices.Sorted(maps.Keys(s.Products)) {
		text = fmt.Appendf(text, "%q %s\n", product, s.Products[product])
	}
	return fmt.Sprintf("%d %s", s.Version, shortHash(text))
}

// Compare lists the products that only this summary has, those whose offers are others in before, and those that only
// before has.
func (s Summary) Compare(before Summary) (added, changed, removed []string) {
	for _, product := range slices.Sorted(maps.Keys(s.Products)) {
		switch before.Products[product] {
		case s.Products[product]:
		case "":
			added = append(added, product)
		default:
			changed = append(changed, product)
		}
	}
	for _, product := range slices.Sorted(maps.Keys(before.Products)) {
		if s.Products[product] == "" {
			removed = append(removed, product)
		}
	}
	return added, changed, removed
}

// Extends reports whether this catalogue is later than before and sells everything that before sells, unchanged. added
// lists the products that only this one sells. Of two catalogues at most one extends the other.
func (s Summary) Extends(before Summary) (added []string, extends bool) {
	added, changed, removed := s.Compare(before)
	return added, len(changed)+len(removed) == 0 && (len(added) > 0 || s.Version > before.Version)
}

func shortHash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
