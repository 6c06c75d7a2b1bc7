package main

import (
	"time"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/ownevents"
)

// byHand are the shop's own events: what support has given, taken and corrected.
func (s *shop) byHand() {
	gift := s.own("give", 45, ownevents.Event{
		Type: ownevents.Gift, User: "u_okafor", Credits: 200, Reason: "ticket 1182: the export failed twice",
	})
	s.own("take", 44, ownevents.Event{
		Type: ownevents.Reversal, User: "u_okafor", Payment: gift, Credits: 50, Reason: "ticket 1182: it was meant to be 150",
	})
	s.own("give", 30, ownevents.Event{
		Type: ownevents.Gift, User: "u_rahman", Credits: 1000, ExpiresAt: s.now.Add(30 * days),
		Reason: "prize of the autumn contest",
	})
	s.own("give", 20, ownevents.Event{
		Type: ownevents.Payment, User: "u_abebe", Product: source.price, GitHubUsername: "hana-abebe",
		Reason: "translated the manual into Amharic",
	})

	pereira := s.buyer("u_pereira", "Tiago Pereira", "Faro", "PT").stripe(solo, 1, 26).first()
	s.own("extend", 15, ownevents.Event{
		Type: ownevents.Subscription, User: pereira.user, Customer: pereira.ids["cus_"], Subscription: pereira.ids["sub_"],
		ExtendedUntil: s.now.Add(20 * days), Reason: "ticket 1251: the outage of last week",
	})

	// A payment that named nobody, until support found out whose it is.
	found := s.buyer("u_ferreira", "Ana Ferreira", "Braga", "PT").creem(pack, 1, 21).
		once(values{"object.metadata": metadata{}})
	s.own("complete", 19, ownevents.Event{
		Type: ownevents.Payment, User: found.user, Customer: found.ids["cust_"], Payment: found.ids["tran_"],
		Reason: "ticket 1240: she sent the receipt",
	})
}

// own adds an event of the shop's own, so many days ago, and returns its id.
func (s *shop) own(command string, ago int, e ownevents.Event) string {
	e.Time = s.now.Add(-time.Duration(ago) * days)
	gives := e.Payment == "" && (e.Type == ownevents.Gift || e.Type == ownevents.Payment)
	e.Identify(command, "demo-"+command+"-"+e.User, gives) // not the default id, which depends on the time
	s.deliver(delivery{events.OwnEvents, e.ID, e.Body(), e.Time})
	return e.ID
}
