package docs_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/docs"
	"github.com/payfold/payfold/internal/testenv/golden"
)

// payfold is this repository.
var payfold = sync.OnceValues(func() (*docs.Repository, error) { return docs.Open("../../..") })

func TestTheDocumentsNameOnlyWhatExists(t *testing.T) {
	t.Parallel()
	repository, err := payfold()
	require.NoError(t, err)
	require.Empty(t, repository.Faults())
}

func TestTheDecisionsArePrinted(t *testing.T) {
	repository, err := payfold()
	require.NoError(t, err)
	golden.RequirePrinted(t, "../../../ARCHITECTURE.md", "decisions", repository.Decisions())
}

func TestTheTableOfPackagesIsPrinted(t *testing.T) {
	repository, err := payfold()
	require.NoError(t, err)
	table, err := repository.Packages()
	require.NoError(t, err)
	golden.RequirePrinted(t, "../../../ARCHITECTURE.md", "packages", table)
}

func TestPackagesUseOnlyWhatTheirPlaceAllows(t *testing.T) {
	t.Parallel()
	repository, err := payfold()
	require.NoError(t, err)
	only := map[string]string{ // a part of an import, and the only packages that may have it
		"nats-io/nats.go": `^internal/(eventlog|endtoend|testenv)`, "nats-io/nats-server": `^internal/(cli$|eventlog|endtoend|testenv)`,
		"google/go-github": `^internal/invitations`, "go.opentelemetry.io/otel/sdk": `^internal/(telemetry/traces|testenv)`,
	}
	may := map[string][]string{ // which of payfold's packages these may use
		"internal/events": nil, "internal/catalogue": nil, "internal/codec": nil, "internal/durable": nil, "internal/backoff": nil,
		"internal/projections": {"internal/catalogue", "internal/codec", "internal/events"},
		"internal/tables":      {"internal/events", "internal/projections"},
		"internal/providers":   {"internal/events"}, "internal/fingerprint": {"internal/events"},
		"internal/webhook": {"internal/events", "internal/minutes", "internal/providers", "internal/telemetry/traces"},
	}
	for folder, imports := range repository.Imports() {
		allowed, limited := may[folder]
		for _, name := range imports {
			for part, users := range only {
				require.False(t, strings.Contains(name, part) && !regexp.MustCompile(users).MatchString(folder), "%s uses %s", folder, name)
			}
			require.False(t, limited && strings.HasPrefix(name, "internal/") && !slices.Contains(allowed, name), "%s uses %s", folder, name)
		}
		require.False(t, folder == "internal/projections" && slices.Contains(imports, "context"), "the rules have no context")
	}
}

func TestEveryKindOfWrongNameInADocumentIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ line, fault string }{
		"link":            {"[here](docs/gone.md)", "README.md:1: the link docs/gone.md leads nowhere"},
		"link's anchor":   {"[here](docs/other.md#gone)", "README.md:1: docs/other.md has no heading #gone"},
		"own anchor":      {"[here](#gone)", "README.md:1: README.md has no heading #gone"},
		"path":            {"see `internal/gone/gone.go`", "README.md:1: there is no path internal/gone/gone.go"},
		"end of a path":   {"see `gone.go`", "README.md:1: there is no path gone.go"},
		"folder":          {"see `deploy/gone`", "README.md:1: there is no path deploy/gone"},
		"test":            {"see `TestGone`", "README.md:1: there is no test TestGone"},
		"Go name":         {"see `webhook.Gone`", "README.md:1: there is no Go name webhook.Gone"},
		"private Go name": {"see `webhook.isGone`", "README.md:1: there is no Go name webhook.isGone"},
		"variable":        {"set `GONE_FOR_EVER`", "README.md:1: there is no variable GONE_FOR_EVER"},
		"variable's path": {"in `GONE_DIR/log`", "README.md:1: there is no variable GONE_DIR"},
		"given variable":  {"```sh\nGONE=1 make run\n```", "README.md:1: there is no variable GONE"},
		"make target":     {"run `make gone`", "README.md:1: there is no make target gone"},
		"metric":          {"watch `payfold_gone_total{cause=\"x\"}`", "README.md:1: there is no metric payfold_gone_total"},
		"alert":           {"`PayfoldGone` fires", "README.md:1: there is no alert PayfoldGone"},
		"table":           {"in `portal.gone`", "README.md:1: there is no table portal.gone"},
		"over two lines":  {"run `make\ngone`", "README.md:1: there is no make target gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repository, err := docs.Open(setup(t, map[string]string{"README.md": c.line}))
			require.NoError(t, err)
			require.Equal(t, []string{c.fault}, repository.Faults())
		})
	}
}

func TestADocumentThatNothingLinksToIsFound(t *testing.T) {
	t.Parallel()
	repository, err := docs.Open(setup(t, map[string]string{"docs/more/alone.md": "[itself](alone.md)"}))
	require.NoError(t, err)
	require.Equal(t, []string{"no document links to docs/more/alone.md"}, repository.Faults())
}

func TestNamesThatExistAreNoFaults(t *testing.T) {
	t.Parallel()
	repository, err := docs.Open(setup(t, map[string]string{"README.md": "[a](docs/other.md#a-title-and-more) [b](https://example.com/x) " +
		"`webhook/handler.go` `deploy/roles.sql` `TestHandler` `webhook.Handler` `DATA_DIR/log` `make run` `payfold_total{a=\"b\"}` `payfold_portal` `portal.credits` `READ COMMITTED`"}))
	require.NoError(t, err)
	require.Empty(t, repository.Faults())
}

type grammar struct {
	Send struct {
		URL   string   `name:"url"`
		Files []string `arg:""`
	} `cmd:""`
	List struct {
		Data string `name:"data" env:"DATA_DIR" default:"./data"`
		JSON bool   `name:"json"`
	} `cmd:""`
}

func TestACommandThatTheProgramRejectsIsFound(t *testing.T) {
	for name, c := range map[string]struct{ line, fault string }{
		"flag inline":      {"`shop list --gone`", "README.md:1: shop list --gone: unknown flag --gone"},
		"flag in a block":  {"```sh\nbin/shop list --gone\n```", "README.md:1: shop list --gone: unknown flag --gone"},
		"behind a prompt":  {"```\n$ shop gone\nshop gone is an answer\n```", "README.md:1: shop gone: unexpected argument gone"},
		"command":          {"`shop gone`", "README.md:1: shop gone: unexpected argument gone"},
		"missing argument": {"```sh\nshop send\n```", "README.md:1: shop send: expected \"<files> ...\""},
	} {
		t.Run(name, func(t *testing.T) {
			repository, err := docs.Open(setup(t, map[string]string{"README.md": c.line}))
			require.NoError(t, err)
			faults, err := repository.CommandFaults("shop", func() any { return &grammar{} })
			require.NoError(t, err)
			require.Len(t, faults, 1)
			require.True(t, strings.HasPrefix(faults[0], c.fault), faults[0])
		})
	}
}

func TestCommandsThatTheProgramAcceptsAreNoFaults(t *testing.T) {
	repository, err := docs.Open(setup(t, map[string]string{"README.md": "`shop send` `shop send --url URL file.json` " +
		"\n```usage\nshop send [--url URL] FILE…\n```\n```sh\nDATA_DIR=x bin/shop list   # all\n```"}))
	require.NoError(t, err)
	faults, err := repository.CommandFaults("shop", func() any { return &grammar{} })
	require.NoError(t, err)
	require.Empty(t, faults)
}

// setup writes a small repository. The argument files adds files or replaces the default ones.
func setup(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{
		"Makefile":                         "run: build\n",
		"SECURITY.md":                      "[a](docs/other.md)",
		"docs/other.md":                    "## A title, and `more`\n",
		"deploy/roles.sql":                 "create role payfold_portal;",
		"internal/store/portal.sql":        "create table credits ();",
		"internal/webhook/handler.go":      "package webhook\n\ntype Handler struct {\n\tDir string `env:\"DATA_DIR\"`\n}\n\nvar o = x{Name: \"payfold_total\"}\n",
		"internal/webhook/handler_test.go": "package webhook\n\nfunc TestHandler(t *testing.T) {}\n",
	}
	maps.Copy(all, files)
	for name, text := range all {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}
