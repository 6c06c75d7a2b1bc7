package connection

import (
	neturl "net/url"
	"regexp"
	"strings"

	"github.com/nats-io/nats.go"
)

const commonInbox = "_INBOX"

var userName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// Inbox makes the subjects to which answers come begin with a prefix. So a server can let each user
// listen to its own answers only. An empty prefix is _INBOX.<user> where all URLs name one user with
// a password, and its name is letters, digits, - and _; otherwise _INBOX.
func Inbox(given, urls string) nats.Option {
	if given == "" {
		given = inboxOf(urls)
	}
	return nats.CustomInboxPrefix(given)
}

func inboxOf(urls string) string {
	user := ""
	for url := range strings.SplitSeq(urls, ",") {
		parsed, err := neturl.Parse(strings.TrimSpace(url))
		if err != nil || parsed.User == nil {
			return commonInbox
		}
		name := parsed.User.Username()
		// Without a password it is a token of NATS, which is a secret.
		if _, isUser := parsed.User.Password(); !isUser || !userName.MatchString(name) || user != "" && name != user {
			return commonInbox
		}
		user = name
	}
	return commonInbox + "." + user
}
