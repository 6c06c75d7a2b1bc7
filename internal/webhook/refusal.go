package webhook

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// What net/http refuses by itself never comes to the Handler: no HTTP, too large a header,
// an unknown expectation or encoding. It writes such an answer in one piece.

const statusAt = len("HTTP/1.1 ")

// isRefusal says whether an answer of 400 or above begins here.
func isRefusal(p []byte) bool {
	return len(p) > statusAt+3 && p[statusAt] >= '4' && p[statusAt] <= '5' && p[statusAt-1] == ' ' && bytes.HasPrefix(p, []byte("HTTP/1."))
}

func isProblem(refusal []byte) bool { return bytes.Contains(refusal, []byte(problemType)) }

// problemOf is the same refusal as a problem document.
func problemOf(refusal []byte) []byte {
	status, err := strconv.Atoi(string(refusal[statusAt : statusAt+3]))
	if err != nil || http.StatusText(status) == "" {
		status = http.StatusBadRequest
	}
	document := answer{status: status, title: http.StatusText(status), detail: "the request's header is not one this endpoint takes"}.problem()
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nDate: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		status, http.StatusText(status), problemType, time.Now().UTC().Format(http.TimeFormat), len(document), document)
}
