package webhook

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// net/http answers some requests itself, without calling the Handler: text that is not HTTP,
// a header that is too large, an unknown expectation or encoding. It writes such an answer
// in one call.

const statusAt = len("HTTP/1.1 ")

// isErrorResponse reports whether p begins with an HTTP answer of status 400 or above.
func isErrorResponse(p []byte) bool {
	return len(p) > statusAt+3 && p[statusAt] >= '4' && p[statusAt] <= '5' && p[statusAt-1] == ' ' && bytes.HasPrefix(p, []byte("HTTP/1."))
}

func isProblem(response []byte) bool { return bytes.Contains(response, []byte(problemType)) }

// asProblem converts an error answer of net/http into a problem document.
func asProblem(response []byte) []byte {
	status, err := strconv.Atoi(string(response[statusAt : statusAt+3]))
	if err != nil || http.StatusText(status) == "" {
		status = http.StatusBadRequest
	}
	document := answer{status: status, title: http.StatusText(status), detail: "this endpoint does not accept the request's header"}.problem()
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nDate: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		status, http.StatusText(status), problemType, time.Now().UTC().Format(http.TimeFormat), len(document), document)
}
