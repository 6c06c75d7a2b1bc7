package webhook

import (
	"errors"
	"io"
	"net/http"
	"os"
)

// readBody reads at most MaxBodyBytes, whatever length the sender announces. After an error
// answer the rest of the body is not read (see connection.Read).
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request, large *reservation) ([]byte, *answer) {
	if r.ContentLength > h.MaxBodyBytes {
		return nil, &tooLarge
	}
	body, err := readAll(http.MaxBytesReader(w, r.Body, h.MaxBodyBytes), r.ContentLength, large)
	switch {
	case err == nil:
		return body, nil
	case errors.Is(err, errNoMemory):
		return nil, &tooManyBodies
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, &tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &tooSlow
	}
	return nil, &truncated
}

// firstRead is the size of a body's first buffer; most bodies fit. It needs no reservation.
const firstRead = 4 << 10

// readAll is io.ReadAll with bounded memory. The first buffer has the announced size if that
// is small. When it is full, readAll reserves a larger one.
func readAll(body io.Reader, announced int64, large *reservation) ([]byte, error) {
	size := int64(firstRead)
	if announced >= 0 && announced < firstRead {
		size = announced + 1 // with one byte more, io.EOF is found without growing the buffer
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
			return nil, errNoMemory
		}
		buffer = append(make([]byte, 0, size), buffer...)
	}
}
