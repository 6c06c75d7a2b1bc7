package projections

import (
	"fmt"
	"strings"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
)

// RulesVersion changes whenever a fold of the same log can give other rows.
const RulesVersion = "3"

// Rules are the settings of the fold.
type Rules struct {
	Mode      Mode
	Catalogue *catalogue.Catalogue // if nil, the metadata says what is sold
	Extras    []string             // sorted names, see extras; only a rebuild and its verification have any
}

// FoldID identifies these rules. Rows that were made under another id may differ.
func (r Rules) FoldID() string {
	if r.Catalogue == nil {
		return r.foldID("")
	}
	return r.foldID(", catalogue " + r.Catalogue.ID)
}

func (r Rules) foldID(sold string) string {
	id := "rules " + RulesVersion + ", mode " + string(r.Mode) + sold
	if len(r.Extras) > 0 {
		id += ", with " + strings.Join(r.Extras, " ")
	}
	return id
}

// Extends reports whether these rules differ from those of a fold id with that catalogue only in products that they
// add. Tables of that fold id are also tables of these rules if no event has named one of the added products: see
// UnlistedProduct.
func (r Rules) Extends(foldID string, sold catalogue.Summary) (added []string, extends bool) {
	if r.Catalogue == nil || r.foldID(", catalogue "+sold.ID()) != foldID {
		return nil, false
	}
	return r.Catalogue.Summary().Extends(sold)
}

// Mode says which of the provider's modes are accepted. Reversals are accepted in any mode: only
// the payment that they name matters.
type Mode string

// The modes.
const (
	ModeAny  Mode = "any" // every event, also one without a mode
	ModeLive Mode = "live"
	ModeTest Mode = "test"
)

// ParseMode reads PROVIDER_MODE.
func ParseMode(text string) (Mode, error) {
	switch mode := Mode(text); mode {
	case ModeAny, ModeLive, ModeTest:
		return mode, nil
	}
	return "", fmt.Errorf("PROVIDER_MODE is %q, must be any, live or test", text)
}

// accepts reports whether events of that mode are accepted. Only ModeAny accepts an event that should say its mode and
// does not.
func (m Mode) accepts(of events.Mode) bool {
	return m == ModeAny || of == events.AnyMode || string(m) == string(of)
}
