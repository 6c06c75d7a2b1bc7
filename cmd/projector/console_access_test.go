package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
)

type accessOnly struct{ accessFlags }

// parseAccess returns the flags and the faults, a line each.
func parseAccess(args ...string) (*accessFlags, []string) {
	var grammar struct {
		Console accessOnly `cmd:"" default:"withargs"`
	}
	_, err := cli.Parse(&grammar, "projector", "", args, io.Discard, io.Discard)
	if err != nil {
		return nil, strings.Split(err.Error(), "\n")
	}
	return &grammar.Console.accessFlags, nil
}

func TestAllFaultsOfTheAccessToTheConsoleAreSaid(t *testing.T) {
	t.Parallel()
	_, faults := parseAccess("--console-token=short", "--console-token-file="+file(t, "other"), "--console-oidc-client-secret-file="+file(t, "\n"),
		"--console-hosts=a.example, http://b", "--console-proxy-header=Remote-User", "--console-oidc-allowed=x")
	require.Equal(t, []string{
		"CONSOLE_TOKEN and CONSOLE_TOKEN_FILE are both set", "CONSOLE_OIDC_CLIENT_SECRET_FILE is empty",
		`CONSOLE_HOSTS: "http://b" is neither a host nor host:port`, "CONSOLE_PROXY_HEADER and CONSOLE_TRUSTED_PROXIES: set both or neither",
		"CONSOLE_OIDC_ISSUER is not set, but other variables CONSOLE_OIDC_… are",
	}, faults)
}

// As of a template whose names are empty. Without names everybody may look whom the issuer lets in.
func TestAListOfPeopleThatNamesNobodyIsAFault(t *testing.T) {
	t.Parallel()
	oidc := []string{"--console-public-url=https://a.example", "--console-oidc-issuer=https://issuer.example", "--console-oidc-client-id=a"}
	for _, allowed := range []string{",", " , ", " "} {
		_, faults := parseAccess(append(oidc, "--console-oidc-allowed="+allowed)...)
		require.Equal(t, []string{"CONSOLE_OIDC_ALLOWED names nobody"}, faults)
	}
	_, faults := parseAccess(append(oidc, "--console-oidc-allowed=")...)
	require.Empty(t, faults)
}

func TestTheFlagsSayWhoMayLook(t *testing.T) {
	t.Parallel()
	const token = "0123456789abcdef0123456789abcdef"
	flags, faults := parseAccess("--console-token-file="+file(t, token+"\n"), "--console-hosts=a.example , b.example:1",
		"--console-proxy-header=Remote-User", "--console-trusted-proxies=10.0.0.1,10.1.0.0/16")
	require.Empty(t, faults)
	guard, err := flags.guard(t.Context(), &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8083}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	handler := guard.Protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	for _, c := range []struct {
		host, peer, header, value string
		status                    int
	}{
		{"a.example", "10.0.0.1:5", "Remote-User", "anna", http.StatusTeapot},
		{"b.example:1", "10.1.9.9:5", "Remote-User", "anna", http.StatusTeapot},
		{"192.0.2.1:8083", "127.0.0.1:5", "Authorization", "Bearer " + token, http.StatusTeapot},
		{"192.0.2.1:8084", "127.0.0.1:5", "Authorization", "Bearer " + token, http.StatusMisdirectedRequest},
		{"b.example:2", "10.0.0.1:5", "Remote-User", "anna", http.StatusMisdirectedRequest},
		{"a.example", "10.0.0.2:5", "Remote-User", "anna", http.StatusUnauthorized},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+c.host+"/", nil)
		r.RemoteAddr = c.peer
		r.Header.Set(c.header, c.value)
		out := httptest.NewRecorder()
		handler.ServeHTTP(out, r)
		require.Equal(t, c.status, out.Code, c)
	}
}

func TestTheFlagsOfTheConsolePrintNoSecret(t *testing.T) {
	t.Parallel()
	const token, secret = "0123456789abcdef0123456789abcdef", "client-secret"
	flags, faults := parseAccess("--console-token="+token, "--console-public-url=https://a.example", "--console-oidc-issuer=https://issuer.example",
		"--console-oidc-client-id=a", "--console-oidc-client-secret="+secret)
	require.Empty(t, faults)
	var out bytes.Buffer
	fmt.Fprintf(&out, "%+v %#v", flags, *flags)
	slog.New(slog.NewTextHandler(&out, nil)).Info("", "flags", flags)
	require.NotContains(t, out.String(), token)
	require.NotContains(t, out.String(), secret)
}
