package endtoend

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// purchase is one of a product, whose amount the event says.
func purchase(event, user, product string) string {
	return fmt.Sprintf(`{"id":%q,"eventType":"checkout.completed","object":{"provider_payment_id":"pay_%[1]s","product":%q,`+
		`"amount":900,"currency":"EUR","metadata":{"user_id":%q}}}`, event, product, user)
}

// catalogueFile writes a catalogue with these products.
func catalogueFile(t *testing.T, products string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "catalogue.yaml")
	require.NoError(t, os.WriteFile(file, []byte("version: 1\nproducts:\n"+products), 0o600))
	return file
}

// A product was forgotten in the catalogue: it is found, the change is shown before it is made, and an old file does not
// take it away again.
func TestAForgottenProductIsFoundAndGranted(t *testing.T) {
	t.Parallel()
	w := setup(t)
	const pack, big = "  pack: {kind: one_time, credits: 25}\n", "  big: {kind: one_time, credits: 100}\n"
	old, next := catalogueFile(t, pack), catalogueFile(t, pack+big)
	projector := w.startProjector(t, "CATALOGUE_FILE="+old)
	w.deliver(t, purchase("evt_1", "u_1", "pack"), purchase("evt_2", "u_2", "big"), purchase("evt_3", "u_2", "big"))
	w.awaitProjected(t)

	said := w.runWithExit(t, 3, "catalogue", "check", old)
	require.Contains(t, said, "It lacks product big: 2 purchases, 1 buyer, EUR 18.00.\n")
	said = w.runWithExit(t, 0, "catalogue", "check", next)
	require.Contains(t, said, "It adds big.\nProduct big was bought: 2 purchases, 1 buyer, EUR 18.00. It would grant 200 credits.\n")
	said = w.runWithExit(t, 3, "catalogue", "check", catalogueFile(t, "  pack: {kind: one_time}\n  tool: {kind: gift}\n"))
	require.Contains(t, said, "a one_time product must have credits")
	require.Contains(t, said, `kind is "gift"`)

	require.Contains(t, w.runWithExit(t, 0, "rebuild", "--dry-run", "--catalogue-file", old), "Nothing would change, up to seq 3.")
	said = w.runWithExit(t, 3, "rebuild", "--dry-run", "--catalogue-file", next)
	require.Contains(t, said, "u_2: credits 0 → 200 (+200); newest event evt_3 at seq 3\n")
	require.NotContains(t, said, "u_1")
	require.EqualValues(t, 25, mustQuery[int64](t, w.database, "select sum(balance)::bigint from portal.credits"), "nothing has changed")
	require.Equal(t, []string{"portal"}, w.schemas(t), "the dry run leaves no schema")

	projector.Signal(syscall.SIGTERM)
	projector.Exit(t)
	w.promote(t, "rebuild", "--promote", "--catalogue-file", next)
	require.EqualValues(t, 225, mustQuery[int64](t, w.database, "select sum(balance)::bigint from portal.credits"))
	said = w.runWithExit(t, 1, "rebuild", "--promote", "--catalogue-file", old)
	require.Contains(t, said, "the catalogue of the live tables sells big, and that of this command does not")
	require.NotContains(t, w.schemas(t), "portal_next", "it is refused before the work")
	require.Contains(t, w.runWithExit(t, 1, "rebuild", "--promote"), "sells big, pack, and that of this command does not")
	w.promote(t, "rebuild", "--promote", "--accept-fewer-products", "--catalogue-file", old)
	require.EqualValues(t, 25, mustQuery[int64](t, w.database, "select sum(balance)::bigint from portal.credits"))
}

// schemas lists the schemas with tables of payfold.
func (w *world) schemas(t *testing.T) (names []string) {
	t.Helper()
	return mustQuery[[]string](t, w.database, "select array_agg(nspname::text order by nspname) from pg_namespace where nspname like 'portal%'")
}
