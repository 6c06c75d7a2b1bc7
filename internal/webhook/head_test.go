package webhook_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/specification"
)

func TestATrailingSlashIsAcceptedAndNothingIsRedirected(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for path, status := range map[string]int{
		specification.Path:                             200,
		specification.Path + "/":                       200,
		specification.Path + "?from=provider":          200,
		specification.Path + "//":                      404,
		specification.Path + "/x":                      404,
		specification.Path + "/.":                      404,
		"/" + specification.Path:                       404,
		"/." + specification.Path:                      404,
		"/x/.." + specification.Path:                   404,
		"/api/payments/./provider/webhook":             404,
		"/api/payments//provider/webhook":              404,
		"/api/payments/provider":                       404,
		"/API/payments/provider/webhook":               404,
		"/livez":                                       404,
		"/debug/pprof/":                                404,
		"/":                                            404,
		specification.Path + "/../webhook":             404,
		specification.Path + "%2f%2f":                  404,
		"/other?path=" + specification.Path:            404,
		"/other" + specification.Path:                  404,
		specification.Path[:len(specification.Path)-1]: 404,
		specification.Path + "%00":                     404,
	} {
		r := delivery(event)
		r.path = path
		got := w.send(r)
		t.Log(path)
		require.Empty(t, got.header.Get("Location"))
		if status == http.StatusNotFound {
			requireProblem(t, got, status, notFound)
			continue
		}
		require.Equal(t, status, got.status)
		require.Equal(t, accepted, got.body)
	}
}

func TestJSONInAnyCharsetIsAccepted(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for contentType, status := range map[string]int{
		"application/json":                      200,
		"application/json; charset=utf-8":       200,
		"application/json; charset=latin1":      200,
		"application/json;charset=UTF-8;v=1":    200,
		"application/json; charset":             200,
		"application/json;":                     200,
		"Application/JSON":                      200,
		"application/vnd.x+json":                200,
		"application/cloudevents+json; v=1":     200,
		"text/x+json":                           200,
		"":                                      415,
		"text/json":                             415,
		"text/plain":                            415,
		"json":                                  415,
		"+json":                                 415,
		"application/jsonp":                     415,
		"application/xml":                       415,
		"application/x-www-form-urlencoded":     415,
		"application/json, text/plain":          415,
		"text/plain; application/json":          415,
		"application/json+xml":                  415,
		"multipart/form-data; boundary=json":    415,
		"application/octet-stream; type=a/json": 415,
	} {
		r := delivery(event)
		r.header.Set("Content-Type", contentType)
		got := w.send(r)
		require.Equal(t, status, got.status, contentType)
	}
}

func TestOnlyAnUnencodedBodyIsAccepted(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for _, row := range []struct {
		encodings []string
		status    int
	}{
		{[]string{"identity"}, 200},
		{[]string{"Identity"}, 200},
		{[]string{""}, 200},
		{[]string{"identity", "identity"}, 200},
		{[]string{"gzip"}, 415},
		{[]string{"br"}, 415},
		{[]string{"identity", "gzip"}, 415},
		{[]string{"identity, gzip"}, 415},
		{[]string{"x"}, 415},
	} {
		r := delivery(event)
		r.header["Content-Encoding"] = row.encodings
		require.Equal(t, row.status, w.send(r).status, row.encodings)
	}
}

func TestHEADIsRefusedLikeGETWithoutABody(t *testing.T) {
	t.Parallel()
	w := setup(t)
	r := delivery("")
	r.method = http.MethodHead
	got := w.send(r)
	require.Equal(t, http.StatusMethodNotAllowed, got.status)
	require.Equal(t, "POST", got.header.Get("Allow"))
	require.Equal(t, "application/problem+json", got.header.Get("Content-Type"))
	require.Empty(t, got.body)
}
