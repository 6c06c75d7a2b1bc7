package telemetry

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
)

var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// NewLogger returns a logger that writes records of at least level (debug, info, warn, error)
// to w, as text or json. The error names all invalid arguments.
func NewLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var wrong []error
	minimum, known := levels[level]
	if !known {
		wrong = append(wrong, fmt.Errorf("LOG_LEVEL is %q, must be debug, info, warn or error", level))
	}
	if format != "text" && format != "json" {
		wrong = append(wrong, fmt.Errorf("LOG_FORMAT is %q, must be text or json", format))
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	options := &slog.HandlerOptions{Level: minimum}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return slog.New(slog.NewTextHandler(w, options)), nil
}
