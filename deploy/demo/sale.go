package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"
)

// shop is a shop's quarter: all that its providers deliver.
type shop struct {
	now        time.Time // of the shop; nothing happens later
	buyers     map[string]*buyer
	deliveries []delivery
}

// delivery is one signed body.
type delivery struct {
	provider string
	id       string // of the event
	body     []byte
	arrives  time.Time // only the order counts
}

// inOrder returns the deliveries in their order of arrival.
func (s *shop) inOrder() []delivery {
	sorted := slices.Clone(s.deliveries)
	slices.SortStableFunc(sorted, func(a, b delivery) int { return a.arrives.Compare(b.arrives) })
	return sorted
}

// buyer is one user of the shop. Everything about a buyer is the same in each run: the names decide the ids.
type buyer struct {
	shop *shop
	user string // id in the shop's database
	name string // as the provider knows it
	city string
	land string
	made int // ids
}

func (s *shop) buyer(user, name, city, land string) *buyer {
	s.buyers[user] = &buyer{shop: s, user: user, name: name, city: city, land: land}
	return s.buyers[user]
}

// id returns a new id that begins with the prefix.
func (b *buyer) id(prefix string) string {
	b.made++
	hash := sha256.Sum256(fmt.Appendf(nil, "%s %d", b.user, b.made))
	return prefix + new(big.Int).SetBytes(hash[:16]).Text(62)
}

// day returns a moment of the day that is so many days ago.
func (b *buyer) day(ago int) time.Time {
	minutes := int(sha256.Sum256([]byte(b.user))[0]) * 3
	return b.shop.now.Add(-time.Duration(ago)*24*time.Hour - time.Duration(minutes)*time.Minute)
}

// mail returns an address that cannot exist.
func (b *buyer) mail() string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r == '.' {
			return r
		}
		return -1
	}, strings.ToLower(strings.ReplaceAll(b.name, " ", ".")))
	return plain + "@example.com"
}

// product is what the shop sells. deploy/demo/catalogue.yaml says what it grants.
type product struct {
	price    string // the provider's id, the key of the catalogue
	id       string // of the product that the price belongs to
	name     string
	amount   int // in the minor unit
	currency string
}

// sale is one subscription or one purchase of a buyer.
type sale struct {
	*buyer
	provider string
	product  product
	units    int
	begins   time.Time         // of the current period
	ids      map[string]string // as in body
	texts    map[string]string // as in body
	always   values            // set in each body
}

// total is what a payment costs.
func (s *sale) total() int { return s.product.amount * s.units }

// metadata is what the shop's server gives a checkout.
type metadata map[string]any

// tell adds a delivery of the example, with values that are set. Its time is that of the example, counted from the
// begin of the current period, unless at says another one.
func (s *sale) tell(file string, at time.Time, set values) {
	s.ids["evt_"] = s.id("evt_")
	all := maps.Clone(s.always)
	maps.Copy(all, set)
	if !at.IsZero() {
		all[eventTime[s.provider].path] = at
	}
	made, when := body{s.provider, file, s.begins.Sub(origin), s.ids, s.texts, all}.make()
	s.shop.deliver(delivery{s.provider, s.ids["evt_"], made, when})
}

// deliver adds a delivery.
func (s *shop) deliver(d delivery) {
	if d.arrives.After(s.now) {
		panic(fmt.Sprintf("event %s is at %s, and the shop's now is %s", d.id, d.arrives, s.now))
	}
	s.deliveries = append(s.deliveries, d)
}

// late makes the newest delivery arrive later.
func (s *shop) late(by time.Duration) {
	last := &s.deliveries[len(s.deliveries)-1]
	last.arrives = last.arrives.Add(by)
}

const days = 24 * time.Hour
