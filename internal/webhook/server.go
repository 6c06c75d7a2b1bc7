package webhook

import (
	"log/slog"
	"net/http"
	"time"
)

const (
	readHeaderTimeout = 5 * time.Second  // a header is a few hundred bytes
	readTimeout       = 10 * time.Second // header and body; providers give up sooner
	writeTimeout      = 20 * time.Second // from the header's end: reading, storing, answering
	idleTimeout       = 2 * time.Minute  // providers keep connections for the next delivery
	maxHeaderBytes    = 16 << 10
)

// NewServer returns a server that gives slow and hostile clients little to hold on to.
func NewServer(handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler: handler,
		// OPTIONS * is answered like every other path that is not ours.
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            readHeaderTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		ErrorLog:                     slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}
