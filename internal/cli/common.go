package cli

import (
	"cmp"
	"io"
	"log/slog"
	"net"
	"regexp"

	"github.com/payfold/payfold/internal/eventlog/connection"
	"github.com/payfold/payfold/internal/telemetry"
)

// Common has the flags of both programs.
type Common struct {
	NATSURL         string `name:"nats-url" env:"NATS_URL" help:"NATS servers, separated by commas; empty: the log that ingest embeds on this machine."`
	NATSURLFile     string `name:"nats-url-file" env:"NATS_URL_FILE" help:"File that contains nats-url, which may have a password."`
	NATSCreds       string `name:"nats-creds" env:"NATS_CREDS" help:"NATS credentials file, with nats-url only."`
	NATSInboxPrefix string `name:"nats-inbox-prefix" env:"NATS_INBOX_PREFIX" help:"Prefix of the subjects on which answers of NATS arrive; the default is _INBOX.USER, with the user of nats-url."`
	NATSStream      string `name:"nats-stream" env:"NATS_STREAM" default:"PAYMENTS" help:"Name of the stream."`
	DataDir         string `name:"data-dir" env:"DATA_DIR" default:"./data" help:"Folder of the embedded log and the private Postgres."`
	LogLevel        string `name:"log-level" env:"LOG_LEVEL" help:"debug, info, warn or error; the default is info, and warn for commands that answer a question."`
	LogFormat       string `name:"log-format" env:"LOG_FORMAT" default:"text" help:"text or json."`
}

var inboxPrefix = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// Check implements Checked.
func (c *Common) Check(faults *Faults) {
	_, err := telemetry.NewLogger(io.Discard, cmp.Or(c.LogLevel, defaultLevel), c.LogFormat)
	faults.Add(err)
	c.checkCreds(faults)
	c.NATSURL = GivenText("NATS_URL", c.NATSURL, c.NATSURLFile, faults)
	faults.Add(connection.CheckURLs(c.NATSURL))
	if c.NATSInboxPrefix != "" && !inboxPrefix.MatchString(c.NATSInboxPrefix) {
		faults.Addf("NATS_INBOX_PREFIX is %q, must be letters, digits, - and _, with dots between them", c.NATSInboxPrefix)
	}
	if c.NATSStream == "" {
		faults.Addf("NATS_STREAM is empty")
	}
	if c.DataDir == "" {
		faults.Addf("DATA_DIR is empty")
	}
}

// checkCreds adds a fault if the credentials cannot be used. Without NATS_URL a program would begin a
// log of its own, although the credentials show that a cluster's log is meant.
func (c *Common) checkCreds(faults *Faults) {
	if c.NATSCreds == "" {
		return
	}
	if c.NATSURL == "" && c.NATSURLFile == "" {
		faults.Addf("NATS_CREDS is set and NATS_URL is not: the embedded log takes no credentials; set NATS_URL, or unset NATS_CREDS")
	}
	SecretLines("NATS_CREDS", c.NATSCreds, faults)
}

// The default levels.
const (
	defaultLevel = "info"
	quietLevel   = "warn"
)

// Logger returns the logger for w that the flags describe.
func (c *Common) Logger(w io.Writer) *slog.Logger { return c.logger(w, defaultLevel) }

// QuietLogger is Logger for a command that answers a question. By default it logs only
// warnings and errors.
func (c *Common) QuietLogger(w io.Writer) *slog.Logger { return c.logger(w, quietLevel) }

func (c *Common) logger(w io.Writer, level string) *slog.Logger {
	logger, err := telemetry.NewLogger(w, cmp.Or(c.LogLevel, level), c.LogFormat)
	if err != nil {
		return slog.New(slog.NewTextHandler(w, nil)) // Check has already reported this fault
	}
	return logger
}

// CheckAddress adds a fault if address is not host:port, where the port is a number or the name of a service.
func CheckAddress(name, address string, faults *Faults) {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		faults.Addf("%s: %q is not host:port", name, address)
	}
}
