package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// What docs/app.md shows works as it is written, under the role of an app.
func TestPortalDocumentsShowWhatWorks(t *testing.T) {
	p := setupPortal(t)
	tab := p.signIn("u_1")
	p.buy(tab, "Monthly plan")
	p.buy(tab, "100 credits")
	page, err := os.ReadFile(filepath.Join(repository, "docs/app.md"))
	require.NoError(t, err)
	blocks := map[string][]string{}
	for _, block := range regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```").FindAllStringSubmatch(string(page), -1) {
		blocks[block[1]] = append(blocks[block[1]], strings.ReplaceAll(block[2], "pro_monthly", "price_plan"))
	}

	program := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(program, []byte(blocks["go"][0]), 0o600))
	for language, command := range map[string]*exec.Cmd{
		"js":     exec.Command("node", "--input-type=module", "-"),
		"python": exec.Command(os.Getenv("PYTHON"), "-"),
		"go":     exec.Command("go", "run", program),
	} {
		require.Len(t, blocks[language], 1, language)
		command.Dir = repository
		if language == "js" { // where pg is installed
			command.Dir = filepath.Join(repository, "examples/portal")
		}
		command.Stdin, command.Env = strings.NewReader(blocks[language][0]), append(os.Environ(), "DATABASE_URL="+p.dsn)
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s", output)
		require.Equal(t, "paid up: true\nspent: true\n", strings.ToLower(string(output)), language)
	}
	tab.open("/")
	requireBalance(tab, 150-3*20)

	app, err := pgx.Connect(t.Context(), p.dsn)
	require.NoError(t, err)
	defer app.Close(t.Context())
	p.sql("create schema shop authorization payfold_portal")
	require.Greater(t, len(blocks["sql"]), 8)
	for _, block := range blocks["sql"] {
		_, err := app.Exec(t.Context(), block, pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err, block)
	}
	tab.open("/")
	requireBalance(tab, 150-3*20-20-15-31) // spent, spent and partly given back, held and confirmed
}
