package eventlog

import (
	"fmt"
	"log/slog"
)

// serverLogger passes on the log lines of the embedded server. Its notices become debug lines.
type serverLogger struct{ logger *slog.Logger }

func (l serverLogger) say(level func(string, ...any), format string, args ...any) {
	level("embedded nats-server", "text", fmt.Sprintf(format, args...))
}

func (l serverLogger) Noticef(format string, v ...any) { l.say(l.logger.Debug, format, v...) }
func (l serverLogger) Debugf(format string, v ...any)  { l.say(l.logger.Debug, format, v...) }
func (l serverLogger) Tracef(format string, v ...any)  { l.say(l.logger.Debug, format, v...) }
func (l serverLogger) Warnf(format string, v ...any)   { l.say(l.logger.Warn, format, v...) }
func (l serverLogger) Errorf(format string, v ...any)  { l.say(l.logger.Error, format, v...) }
func (l serverLogger) Fatalf(format string, v ...any)  { l.say(l.logger.Error, format, v...) }
