package webhook

import (
	"log/slog"
	"net/http"
	"time"
)

const (
	readHeaderTimeout = defaultStallTimeout     // a header has a few hundred bytes
	readTimeout       = 2 * defaultStallTimeout // for the header and the first firstRead bytes; a larger body gets more while it arrives
	writeTimeout      = 30 * time.Second        // after the header: reading at minRate, storing, answering
	idleTimeout       = 2 * time.Minute         // a provider keeps its connection for the next delivery; an error answer closes it
	maxHeaderBytes    = 16 << 10
)

// NewServer returns a server in which slow and hostile clients hold few resources.
func NewServer(handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:     handler,
		ConnContext: withConnection,
		// OPTIONS * is answered like every unknown path.
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            readHeaderTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		ErrorLog:                     slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}
