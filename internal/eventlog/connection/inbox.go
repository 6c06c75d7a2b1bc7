package connection

import (
	neturl "net/url"
	"regexp"
	"strings"

	"github.com/nats-io/nats.go"
)

const commonInbox = "_INBOX"

var userName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// Inbox sets the prefix of the subjects of answers. So a server can let each user listen to its own
// answers only. If given is empty and all URLs name one user with a password, the prefix is
// _INBOX.<user>. The user's name must have only letters, digits, - and _. Otherwise the prefix is
// _INBOX.
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
		// A user without a password is a token of NATS, which is a secret.
		if _, isUser := parsed.User.Password(); !isUser || !userName.MatchString(name) || user != "" && name != user {
			return commonInbox
		}
		user = name
	}
	return commonInbox + "." + user
}
