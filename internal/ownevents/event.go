// Package ownevents makes the shop's own events from what people type: the flags of a command, or the lines of a CSV
// file. It checks all of it, so that no event is sent that payfold would read in another way than it was meant.
package ownevents

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
)

// Event is the body of an own event. docs/event.schema.json describes the keys. An empty field is left out.
type Event struct {
	ID             string    `json:"id"`
	Type           string    `json:"type"`
	Time           time.Time `json:"time,omitzero"`
	User           string    `json:"user,omitempty"`
	Customer       string    `json:"customer,omitempty"`
	Subscription   string    `json:"subscription,omitempty"`
	Payment        string    `json:"payment,omitempty"`
	Order          string    `json:"order,omitempty"`
	Product        string    `json:"product,omitempty"`
	Kind           string    `json:"kind,omitempty"`
	Credits        int64     `json:"credits,omitempty"`
	Units          int64     `json:"units,omitempty"`
	ExpiresAt      time.Time `json:"expires_at,omitzero"`
	GitHubUsername string    `json:"github_username,omitempty"`
	Status         string    `json:"status,omitempty"`
	PeriodStart    time.Time `json:"period_start,omitzero"`
	PeriodEnd      time.Time `json:"period_end,omitzero"`
	ExtendedUntil  time.Time `json:"extended_until,omitzero"`
	Reason         string    `json:"reason,omitempty"` // for people; no rule reads it
}

// The types of own events.
const (
	Payment      = "payment"
	Gift         = "gift"
	Subscription = "subscription"
	Reversal     = "reversal"
)

// Body returns the bytes to sign and send. Equal events have equal bytes.
func (e *Event) Body() []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		panic(fmt.Sprintf("encode an own event: %v", err)) // it has only texts, numbers and times of years with four digits
	}
	return bytes.TrimSpace(out.Bytes())
}

// Identify gives the event the id, or if that is empty one that is made of the command and of all that the event says. So
// the same command again is the same event, which takes effect once. A new payment has the event's id as its name.
func (e *Event) Identify(command, id string, newPayment bool) {
	if id == "" {
		e.ID = ""
		id = hashed(command, string(e.Body()))
	}
	if e.ID = id; newPayment {
		e.Payment = id
	}
}

// hashed returns a name that begins with the word and depends on the texts.
func hashed(word string, texts ...string) string {
	hash := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(hash, "%d:%s", len(text), text)
	}
	return word + "-" + hex.EncodeToString(hash.Sum(nil)[:12])
}

// Check returns an error if payfold would read the event in another way than it was meant, for example because the user
// is a word that programs write in the place of none.
func (e *Event) Check() error {
	read, err := providers.Named(events.OwnEvents).Parse(e.Body(), "")
	if err != nil {
		return err
	}
	for _, text := range []struct{ name, meant, read string }{
		{"the user", e.User, read.UserID},
		{"the subscription", e.Subscription, read.SubscriptionID},
		{"the payment", e.Payment, read.Transaction},
		{"the order", e.Order, read.Order},
		{"the product", e.Product, read.Product},
		{"the GitHub user", e.GitHubUsername, read.GitHubUser},
	} {
		if text.meant != text.read {
			return fmt.Errorf("%s is %q, which payfold reads as %q", text.name, text.meant, text.read)
		}
	}
	if read.InvalidText || read.InvalidPayment || read.Credits.Value != e.Credits || read.Units.Value != e.Units {
		return fmt.Errorf("payfold cannot read the event: %s", e.Body())
	}
	return nil
}
