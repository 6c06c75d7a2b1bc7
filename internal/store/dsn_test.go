package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnUnreadableConnectionStringShowsNoPassword(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://u:%zMARK@host/db", "postgres://u:a/MARK@host/db", "postgres://u:a/b@MARK@host/db", "postgres://u:a/b?MARK@host/db",
		"postgres://u:1/MARK@host/db", "postgres://u:a@MARK@host/db", "postgres://u:a@MARK@host:port/db", "u:MARK:b@host/db",
		"host=host password=a MARK", "host=host password = MARK sslmode=loud", "PGPASSWORD=a MARK",
		"postgres://u:1/x?dbname=MARK@host/db",
	} {
		err := CheckDSN(dsn)
		require.ErrorIs(t, err, errNotDSN, dsn)
		require.NotContains(t, err.Error(), "MARK", dsn)
	}
}

func TestTheWrongValueOfAConnectionStringIsNamed(t *testing.T) {
	t.Parallel()
	for dsn, wrong := range map[string]string{
		"postgres://u:MARK@host/db?sslmode=loud":         "sslmode is invalid",
		"service=missing servicefile=/dev/null":          "unable to find service: missing",
		"postgres://host/db?connect_timeout=soon":        "invalid connect_timeout",
		"host=host default_query_exec_mode=simple":       "default_query_exec_mode",
		"postgres://u:MARK@host,other/db?sslrootcert=/x": "/x",
	} {
		err := CheckDSN(dsn)
		require.ErrorContains(t, err, wrong)
		require.NotContains(t, err.Error(), "MARK", dsn)
	}
}

func TestConnectionStringsThatPostgresTakesAreTaken(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://u%40x:a%40b%2Fc@one:1,two:2/db?target_session_attrs=read-write", "host=@abstract", "host=/run/@a/b", "",
		"postgres://u:p@host/db?options=-c%20search_path%3Da", "postgresql:///db?host=/run/postgresql&user=a@b",
		"postgres://u:p@host/a%40b", "postgres://u:p@host/?dbname=a%40b", "host=host password=p dbname=a@b",
	} {
		require.NoError(t, CheckDSN(dsn), dsn)
	}
}
