package localpg

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/sqlstate"
)

const deployed = "../../deploy/postgres"

// as returns the connection string of another role.
func as(t *testing.T, dsn, role, password string) string {
	t.Helper()
	target, err := url.Parse(dsn)
	require.NoError(t, err)
	target.User = url.UserPassword(role, password)
	return target.String()
}

func requireState(t *testing.T, state string, conn *pgx.Conn, sql string) {
	t.Helper()
	_, err := conn.Exec(t.Context(), sql)
	require.Equal(t, state, sqlstate.Of(err), "%s: %v", sql, err)
}

func TestPortalRoleReadsThePortalAndNothingElse(t *testing.T) {
	t.Parallel()
	dsn := start(t, dataDir(t, 0o755)).dsn(t)
	roles, err := os.ReadFile(filepath.Join(deployed, "roles.sql"))
	require.NoError(t, err)
	execute(t, dsn, string(roles),
		"alter role payfold_projector password 'projector'", "alter role payfold_portal password 'portal'")

	projector := as(t, dsn, "payfold_projector", "projector")
	execute(t, projector,
		"create table portal.payment (id int)", "insert into portal.payment values (7)",
		"create table payfold.invitation (id int)", "create schema portal_next", "drop schema portal_next")
	require.Equal(t, 7, query[int](t, as(t, dsn, "payfold_portal", "portal"), "select id from payment"))
	execute(t, dsn, "grant usage on schema payfold to payfold_portal", "grant select on payfold.invitation to payfold_portal")
	execute(t, dsn, string(roles)) // again, with tables there

	portal := open(t, as(t, dsn, "payfold_portal", "portal"))
	const denied = "42501" // insufficient_privilege
	for _, sql := range []string{
		"insert into portal.payment values (8)", "update portal.payment set id = 8", "delete from portal.payment",
		"truncate portal.payment", "drop table portal.payment", "create table portal.mine (id int)",
		"create table public.mine (id int)", "create schema mine", "create temporary table mine (id int)",
		"select * from payfold.invitation", "create table payfold.mine (id int)", "set role payfold_projector",
	} {
		requireState(t, denied, portal, sql)
	}
	requireState(t, "", portal, "select * from portal.payment")
}

func TestDeployedSettingsAreAccepted(t *testing.T) {
	t.Parallel()
	dir := dataDir(t, 0o755)
	first := start(t, dir)
	cluster := query[string](t, first.dsn(t), "show data_directory")
	require.NoError(t, first.stop())
	settings, err := os.ReadFile(filepath.Join(deployed, "postgresql.conf"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(cluster, "postgresql.auto.conf"), settings, 0o600))

	dsn := start(t, dir).dsn(t)
	require.Zero(t, query[int](t, dsn, "select count(*) from pg_file_settings where error is not null and sourcefile like '%auto.conf'"))
	require.Equal(t, "15min", query[string](t, dsn, "show checkpoint_timeout"))
}

func TestEnsurePrintsTheFolderOfTheBinaries(t *testing.T) {
	script, err := filepath.Abs(filepath.Join(deployed, "ensure.sh"))
	require.NoError(t, err)
	want, err := Binaries()
	require.NoError(t, err)
	output, err := exec.CommandContext(t.Context(), "sh", script).Output()
	require.NoError(t, err)
	require.Equal(t, want, strings.TrimSpace(string(output)))

	t.Setenv("PG_BIN", t.TempDir())
	wrong := exec.CommandContext(context.Background(), "sh", script)
	var stderr strings.Builder
	wrong.Stderr = &stderr
	require.Error(t, wrong.Run())
	require.Contains(t, stderr.String(), "PG_BIN is ")
}
