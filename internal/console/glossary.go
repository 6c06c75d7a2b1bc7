package console

import (
	"fmt"
	"strings"
)

// glossary has the words of docs/glossary.md that pages explain when somebody points at them.
var glossary = map[string]string{
	"chargeback": "the buyer's bank took the money back",
	"correction": "a ledger line that repairs an excessive grant or reversal",
	"fold id":    "names the rules, the mode and the catalogue with which rows were made",
	"grant":      "the credits that a payment gives",
	"ignored":    "an event that changes nothing that a user has",
	"kind":       "what was bought: subscription, one_time (a credit pack) or pro (a licence); in a catalogue also none",
	"partition":  "a part of the log. All events of a customer are in one, so they are applied in order",
	"refund":     "the shop gave the money back",
	"schema":     "a set of tables in Postgres, such as portal",
	"seq":        "a message's number in the log",
	"settle":     "folds the customers again who had out-of-order events",
	"stale":      "an event that is older than what decided the status of its subscription",
}

// meaning returns what a word of the glossary means. The word may begin with a capital or be a plural.
func meaning(word string) (string, error) {
	lower := strings.ToLower(word)
	for _, form := range []string{lower, strings.TrimSuffix(lower, "s")} {
		if text, found := glossary[form]; found {
			return text, nil
		}
	}
	return "", fmt.Errorf("the glossary has no word %q", word)
}
