package webhook

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/semaphore"
)

// bodyBytes bounds what the large bodies that are being read take all together,
// before anything shows that they are the provider's.
const bodyBytes = 64 << 20

// readBody reads at most MaxBodyBytes, whatever the caller announces. A refusal
// closes the connection instead of reading the rest.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request, large *share) ([]byte, answer, bool) {
	if r.ContentLength > h.MaxBodyBytes {
		hangUp(w)
		return nil, tooLarge, true
	}
	body, err := readAll(http.MaxBytesReader(w, r.Body, h.MaxBodyBytes), r.ContentLength, large)
	var overLimit *http.MaxBytesError
	if err == nil {
		return body, answer{}, false
	}
	hangUp(w)
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

// hangUp ends the connection with the answer. Without the deadline net/http
// would read on for a while, both before the answer and after it.
func hangUp(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
}

// firstRead is what every body gets at first: most fit.
const firstRead = 4 << 10

var errNoRoom = errors.New("too many large bodies at once")

// readAll is io.ReadAll with a buffer that is at first of the announced size, where
// that is small, and then takes more from large as more has arrived.
func readAll(body io.Reader, announced int64, large *share) ([]byte, error) {
	size := int64(firstRead)
	if announced >= 0 && announced < firstRead {
		size = announced + 1 // one more, so that the end is found without growing
	}
	buffer := make([]byte, 0, size)
	for {
		n, err := body.Read(buffer[len(buffer):cap(buffer)])
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

// share is what one body has taken of a common store.
type share struct {
	of    *semaphore.Weighted
	taken int64
}

func (s *share) take(n int64) bool {
	if !s.of.TryAcquire(n) {
		return false
	}
	s.taken += n
	return true
}

func (s *share) giveBack() {
	if s.taken > 0 {
		s.of.Release(s.taken)
	}
}
