package telemetry

import (
	"fmt"
	"io"
	"log/slog"
)

// NewLogger writes records of at least level (debug, info, warn, error) to w,
// as text or json.
func NewLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	options := &slog.HandlerOptions{}
	switch level {
	case "debug":
		options.Level = slog.LevelDebug
	case "info":
		options.Level = slog.LevelInfo
	case "warn":
		options.Level = slog.LevelWarn
	case "error":
		options.Level = slog.LevelError
	default:
		return nil, fmt.Errorf("LOG_LEVEL is %q, which is none of debug, info, warn, error", level)
	}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, fmt.Errorf("LOG_FORMAT is %q, which is none of text, json", format)
}
