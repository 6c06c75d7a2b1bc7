package store

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

// These modes answer in the text format, which scanRow cannot read.
func TestAQueryModeWithoutTheBinaryFormatIsRefused(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"exec", "simple_protocol"} {
		_, err := Open(t.Context(), Config{DSN: "host=127.0.0.1 default_query_exec_mode=" + mode})
		require.ErrorContains(t, err, "default_query_exec_mode")
	}
}

func TestTheConnectionsOfAProgramAreBounded(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]int32{"": 8, " pool_max_conns=3": 8, " pool_max_conns=20": 20} {
		s, err := Open(t.Context(), Config{DSN: "host=127.0.0.1" + asked})
		require.NoError(t, err)
		require.Equal(t, want, s.Pool().Config().MaxConns, asked)
		s.Close()
	}
}

// To close a pool waits for a ping under way, which a silent network does not answer.
func TestAPingOfAnIdleConnectionIsBounded(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]time.Duration{"": CleanUpTimeout, " pool_ping_timeout=1s": time.Second} {
		s, err := Open(t.Context(), Config{DSN: "host=127.0.0.1" + asked})
		require.NoError(t, err)
		require.Equal(t, want, s.Pool().Config().PingTimeout, asked)
		s.Close()
	}
}

// A resolver gives up a silent DNS server after five seconds. No call waits that long, so no error would name it.
func TestTheLookUpOfTheDatabaseIsBounded(t *testing.T) {
	limits := make(chan time.Time, 100)
	usual := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		limit, _ := ctx.Deadline()
		limits <- limit
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	s, err := Open(t.Context(), Config{DSN: "host=db.invalid", ConnectTimeout: time.Second})
	net.DefaultResolver = usual
	require.NoError(t, err)
	defer s.Close()
	began := time.Now()
	require.ErrorContains(t, s.Ping(t.Context()), "lookup db.invalid")
	require.Less(t, (<-limits).Sub(began), 5*time.Second)
}

// A session keeps what was set when it began.
func TestASessionThatMayOnlyReadIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	ctx, dsn := t.Context(), testenv.Database(t)
	admin, err := Open(ctx, Config{DSN: dsn})
	require.NoError(t, err)
	defer admin.Close()
	set := func(setting string) {
		_, err := admin.Pool().Exec(ctx, "do $$ begin execute format('alter database %I "+setting+"', current_database()); end $$")
		require.NoError(t, err)
	}
	set("set default_transaction_read_only = on")
	s, err := Open(ctx, Config{DSN: dsn, Connections: 1})
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Pool().Exec(ctx, "create table public.written (a int)")
	require.ErrorContains(t, err, "read-only transaction")
	set("reset default_transaction_read_only")
	_, err = s.Pool().Exec(ctx, "create table public.written (a int)")
	require.NoError(t, err)
}

func TestASessionHasTheLimitsOfItsConfiguration(t *testing.T) {
	t.Parallel()
	dsn := testenv.Database(t)
	for _, c := range []struct {
		config                Config
		lock, idle, statement string
	}{
		{Config{DSN: dsn}, "0", "0", "0"},
		{Config{DSN: dsn, LeaseTime: 10 * time.Second}, "5s", "8s", "0"},
		{Config{DSN: dsn, LeaseTime: time.Minute, FrozenAfter: 20 * time.Second, StatementTimeout: 3 * time.Second}, "10s", "16s", "3s"},
	} {
		s, err := Open(t.Context(), c.config)
		require.NoError(t, err)
		defer s.Close()
		var lock, idle, statement string
		require.NoError(t, s.Pool().QueryRow(t.Context(), `select current_setting('lock_timeout'),
			current_setting('idle_in_transaction_session_timeout'), current_setting('statement_timeout')`).Scan(&lock, &idle, &statement))
		require.Equal(t, []string{c.lock, c.idle, c.statement}, []string{lock, idle, statement})
	}
}

// A session on a Unix socket shows 0: only one over TCP uses these settings.
func TestASessionOfADeadMachineEndsWithinAMinute(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{DSN: testenv.Database(t)})
	require.NoError(t, err)
	defer s.Close()
	var idle, interval, count int
	require.NoError(t, s.Pool().QueryRow(t.Context(), `select max(reset_val::int) filter (where name = 'tcp_keepalives_idle'),
		max(reset_val::int) filter (where name = 'tcp_keepalives_interval'), max(reset_val::int) filter (where name = 'tcp_keepalives_count')
		from pg_settings where name like 'tcp\_keepalives%'`).Scan(&idle, &interval, &count))
	require.Equal(t, 60, idle+count*interval)
}

// The database would take each byte of a text for a character, and other programs would read other texts.
func TestTextsAreUTF8WhateverTheDatabasePrefers(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{DSN: testenv.Database(t) + " client_encoding=LATIN1"})
	require.NoError(t, err)
	defer s.Close()
	var characters int
	require.NoError(t, s.Pool().QueryRow(t.Context(), "select length($1)", anyScript).Scan(&characters))
	require.Equal(t, 3, characters)
}

func TestNoStatementIsCompiled(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{DSN: testenv.Database(t) + " jit=on"})
	require.NoError(t, err)
	defer s.Close()
	var jit string
	require.NoError(t, s.Pool().QueryRow(t.Context(), "show jit").Scan(&jit))
	require.Equal(t, "off", jit)
}
