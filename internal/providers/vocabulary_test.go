package providers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// knowing are the packages that may know a provider: this one, the one that asks their APIs, the one with the variables
// of secrets and keys, and tests.
var knowing = []string{"providers", "providerapi", "cli", "testenv", "endtoend"}

// neutral are packages that read events or their rows. In others, a word such as data can be a key of something else.
var neutral = []string{"projections", "report", "console", "verify", "store", "events", "webhook", "tables", "rebuild", "live"}

// A new provider is a table in this package, and nothing else. So names and event types of providers occur in no text and
// in no comment of any other package, and the keys of their bodies are no string of a neutral one.
func TestNoOtherPackageKnowsTheWordsOfAProvider(t *testing.T) {
	t.Parallel()
	words, keys, read := wordsOfAll(), keysOfAll(), 0
	for _, root := range []string{"../../internal", "../../cmd"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				if err == nil && slices.Contains(append(knowing, "testdata", "browser"), entry.Name()) {
					return filepath.SkipDir
				}
				return err
			}
			texts, literals := textsOf(t, path)
			for _, text := range texts {
				require.Empty(t, words.find(text), "%s: %s", path, text)
			}
			if !slices.Contains(neutral, strings.Split(filepath.ToSlash(path), "/")[3]) {
				literals = nil
			}
			for _, literal := range literals {
				require.NotContains(t, keys, literal, path)
			}
			read++
			return nil
		}))
	}
	require.Greater(t, read, 400)
}

// The search above finds what it looks for.
func TestTheWordsOfProvidersAreKnown(t *testing.T) {
	t.Parallel()
	words, keys := wordsOfAll(), keysOfAll()
	for _, text := range []string{"checkout.completed", "in ('refund.created', 'x')", "after customer.subscription.updated.", "order_refunded", "of Stripe"} {
		require.NotEmpty(t, words.find(text), text)
	}
	for _, text := range []string{"payment", "checkout", "the provider", "row.refund.created_at", "subscription_created_at"} {
		require.Empty(t, words.find(text), text)
	}
	for _, key := range []string{"client_reference_id", "last_transaction_id", "grand_total", "billing_reason"} {
		require.Contains(t, keys, key)
	}
	texts, literals := textsOf(t, "creem.go")
	require.Contains(t, literals, "checkout.completed")
	require.Contains(t, strings.Join(texts, "\n"), "Creem as it is sold")
}

// wordsOfAll has the names and the event types of all providers. The shop's own and the one of the specification have
// neutral names, and the shop's own types are neutral, too.
func wordsOfAll() vocabulary {
	words, inLowerCase := map[string]bool{}, map[string]bool{}
	for _, p := range All {
		if p == payfold {
			continue
		}
		if p != specification {
			words["(?i:"+p.name+")"] = true
			inLowerCase[p.name] = true
		}
		for name := range p.events {
			words[regexp.QuoteMeta(name)] = true
			inLowerCase[strings.ToLower(name)] = true
		}
	}
	return vocabulary{
		inLowerCase: slices.Sorted(maps.Keys(inLowerCase)),
		words:       regexp.MustCompile(`\b(` + strings.Join(slices.Sorted(maps.Keys(words)), "|") + `)\b`),
	}
}

// vocabulary finds words in texts.
type vocabulary struct {
	inLowerCase []string // a text without them needs no search with words, which is slow
	words       *regexp.Regexp
}

func (v vocabulary) find(text string) string {
	lower := strings.ToLower(text)
	if !slices.ContainsFunc(v.inLowerCase, func(word string) bool { return strings.Contains(lower, word) }) {
		return ""
	}
	return v.words.FindString(text)
}

// keysOfAll are the last keys of all paths, without those that payfold uses itself.
func keysOfAll() map[string]bool {
	keys := map[string]bool{}
	for _, p := range All {
		if p == payfold {
			continue
		}
		addKeys(keys, p.reader.root)
		for _, m := range p.known {
			for _, l := range []compiledList{m.items, m.answers} {
				if l.reader != nil {
					addKeys(keys, l.reader.root)
				}
			}
		}
	}
	for _, own := range ownWords {
		delete(keys, own)
	}
	return keys
}

func addKeys(keys map[string]bool, n *node) {
	if n.first != nil {
		addKeys(keys, n.first)
	}
	for key, below := range n.children {
		if below.read {
			keys[key] = true
		}
		addKeys(keys, below)
	}
}

// ownWords are keys that are also columns, labels or words of payfold.
var ownWords = []string{
	"action", "amount", "credits", "currency", "event_id", "event_type", "github_username", "id", "key", "kind",
	"occurred_at", "order", "order_id", "period_end", "period_start", "product", "provider_payment_id", "reason",
	"status", "subscription", "subscription_id", "timestamp", "transaction", "transaction_id", "type", "user_id",
}

// textsOf returns the texts of a file that a person or a database reads, with its comments, and its string literals. Of a
// file that is not Go, that is the whole text.
func textsOf(t *testing.T, path string) (texts, literals []string) {
	t.Helper()
	if strings.HasSuffix(path, "_test.go") {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	if filepath.Ext(path) != ".go" {
		return []string{string(text)}, nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
	require.NoError(t, err)
	for _, comment := range file.Comments {
		texts = append(texts, comment.Text())
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING {
			value, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			texts, literals = append(texts, value), append(literals, value)
		}
		return true
	})
	return texts, literals
}
