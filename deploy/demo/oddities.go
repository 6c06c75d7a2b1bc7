package main

import (
	"strings"
	"time"

	"github.com/payfold/payfold/internal/ownevents"
)

// forgotten is how many events are about the product that the catalogue does not have.
const forgotten = 3

// oddities are what every shop gets some day: mistakes in the catalogue and in bodies, late and repeated deliveries,
// and buyers who write what they like.
func (s *shop) oddities() {
	// Sold, and forgotten in the catalogue.
	s.buyer("u_olsen", "Kari Olsen", "Oslo", "NO").creem(bundle, 1, 3).once(nil)
	s.buyer("u_gruber", "Max Gruber", "Salzburg", "AT").creem(bundle, 1, 2).once(nil)
	s.buyer("u_lee", "Hannah Lee", "Toronto", "CA").creem(bundle, 2, 1).once(nil)

	// A payment whose user is missing waits.
	s.buyer("u_unknown", "Robin Lovelace", "Dublin", "IE").creem(pack, 2, 9).once(values{"object.metadata": metadata{}})

	// Money that has not arrived, and money that arrives two days later.
	pending := values{"object.order.status": "pending"}
	s.buyer("u_nair", "Meera Nair", "Kochi", "IN").creem(pack, 1, 13).once(pending)
	bank := s.buyer("u_yilmaz", "Ece Yılmaz", "Ankara", "TR").creem(pack, 1, 18).once(pending)
	bank.tell("checkout.completed", bank.begins.Add(2*days), values{"object.subscription": nil})

	// Numbers that cannot be read.
	odd := func(user string, ago int, set values) {
		s.buyer(user, "Sketchbird Test", "Utrecht", "NL").creem(pack, 1, ago).once(set)
	}
	odd("u_test_amount", 50, values{"object.order.amount_paid": "9.00", "object.order.amount": "9.00"})
	odd("u_test_units", 50, values{"object.units": "two"})
	odd("u_test_both", 50, values{
		"object.order.amount_paid": "9.00", "object.order.amount": "9.00", "object.units": "two",
	})
	// Events that cannot be used.
	odd("u_test_kind", 49, values{"object.metadata": metadata{"user_id": "u_test_kind", "kind": "voucher"}})
	odd("u_test_mismatch", 49, values{"object.metadata": metadata{"user_id": "u_test_mismatch", "kind": "pro"}})
	odd("u_test_long_user", 48, values{"object.metadata": metadata{"user_id": strings.Repeat("u", 256)}})
	odd("u_test_no_payment", 48, values{"object.order": nil})
	s.own("give", 47, ownevents.Event{Type: ownevents.Gift, User: "u_test_empty_gift", Reason: "a gift without credits"})
	s.own("give", 47, ownevents.Event{
		Type: ownevents.Gift, User: "u_test_minus_gift", Credits: -5, Reason: "a gift of less than nothing",
	})
	paid := s.buyers["u_kim"].creem(packYear, 1, 46).once(nil)
	s.own("complete", 46, ownevents.Event{
		Type: ownevents.Payment, User: "u_test_thief", Payment: paid.ids["tran_"], Reason: "somebody else's payment",
	})

	// A renewal, then the older news that it had failed.
	late := s.buyer("u_horvat", "Iva Horvat", "Split", "HR").stripe(solo, 1, 42).first().renew()
	late.status("updated", "past_due", late.begins.Add(time.Minute), nil)
	s.late(2 * days)
	// Stripe tells this invoice under two event types.
	late.tell("invoice.paid", late.begins.Add(2*time.Hour), values{"type": "invoice.payment_succeeded"})
	s.hostile()
	s.repeated()
}

// hostile are buyers with names that a careless page would execute, mirror or cut.
func (s *shop) hostile() {
	for i, name := range []string{
		`"><script>alert("sold")</script>`, `u_o'brien"; drop table payment; --`, "u_\u202egnp.rotcod", "🦊_füchsin_東京",
		"u_" + strings.Repeat("very_long_", 25), "../../users/u_moreau?x=1#y", "مريم",
	} {
		s.buyer(name, name, "Nowhere", "XX").creem(pack, 1, 11-i).once(values{"object.product.description": name})
	}
	s.buyer("u_mallory", "Mallory", "Nowhere", "XX").paddle(source, 7).
		licensed("[free licence](javascript:alert(1))").once()
}

// repeated are deliveries that come again: the same bytes, and another body under an id that was used.
func (s *shop) repeated() {
	first := s.deliveries[0]
	first.arrives = first.arrives.Add(time.Minute)
	s.deliver(first)
	second := first
	second.body = []byte(strings.ReplaceAll(string(first.body), "u_moreau", "u_test_thief"))
	second.arrives = second.arrives.Add(time.Minute)
	s.deliver(second)
}
