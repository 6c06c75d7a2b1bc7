package webhook

import (
	"log/slog"
	"net/http"
	"time"
)

const (
	readHeaderTimeout = defaultPatience     // a header is a few hundred bytes
	readTimeout       = 2 * defaultPatience // header and the first firstRead of the body; a larger one gets longer as it comes
	writeTimeout      = 30 * time.Second    // from the header's end: reading at minRate, storing, answering
	idleTimeout       = 2 * time.Minute     // providers keep connections for the next delivery; whoever was refused has none
	maxHeaderBytes    = 16 << 10
)

// NewServer returns a server that gives slow and hostile clients little to hold on to.
func NewServer(handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:     handler,
		ConnContext: remember,
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
