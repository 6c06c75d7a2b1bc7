package webhook

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// readBody reads at most MaxBodyBytes, whatever the caller announces. After a
// refusal the rest is not read (connection.Read).
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request, large *share) ([]byte, answer, bool) {
	if r.ContentLength > h.MaxBodyBytes {
		return nil, tooLarge, true
	}
	body, err := readAll(http.MaxBytesReader(w, r.Body, h.MaxBodyBytes), r.ContentLength, large)
	var overLimit *http.MaxBytesError
	if err == nil {
		return body, answer{}, false
	}
	if errors.Is(err, errNoRoom) {
		return nil, tooMany, true
	}
	if errors.As(err, &overLimit) {
		return nil, tooLarge, true
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, tooSlow, true
	}
	return nil, brokenOff, true
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// firstRead is what every body gets at first: most fit.
const firstRead = 4 << 10

// readAll is io.ReadAll with a buffer that is at first of the announced size, where
// that is small, and then takes more from large as more has arrived.
func readAll(body io.Reader, announced int64, large *share) ([]byte, error) {
	size := int64(firstRead)
	if announced >= 0 && announced < firstRead {
		size = announced + 1 // one more, so that the end is found without growing
	}
	buffer := make([]byte, 0, size)
	for {
		n, err := large.read(body, buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		if errors.Is(err, io.EOF) {
			return buffer, nil
		}
		if err != nil {
			return nil, err
		}
		if len(buffer) < cap(buffer) {
			continue
		}
		size = 2 * int64(cap(buffer))
		if announced >= int64(cap(buffer)) {
			size = min(size, announced+1)
		}
		if !large.take(size) {
			return nil, errNoRoom
		}
		buffer = append(make([]byte, 0, size), buffer...)
	}
}
