package invitations

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

// Statuses of an invitation.
const (
	Pending      = "pending"      // the next attempt asks GitHub to invite
	Invited      = "invited"      // GitHub has sent it; the user has not answered
	Collaborator = "collaborator" // the user has access
	Failed       = "failed"       // permanent failure
	Expired      = "expired"      // two invitations expired
	Declined     = "declined"     // the invitation is gone, and the user has no access
	Withdrawn    = "withdrawn"    // the purchase was refunded
)

// Statuses lists all statuses. It must not be changed.
var Statuses = []string{Pending, Invited, Collaborator, Failed, Expired, Declined, Withdrawn}

// Invitation is the state of one purchase's invitation to one repository.
type Invitation struct {
	UserID              string     `json:"user_id" db:"user_id"`
	Repository          string     `json:"repository" db:"repository"`
	PaymentID           string     `json:"provider_payment_id" db:"provider_payment_id"`
	GitHubUser          *string    `json:"github_username" db:"github_username"`
	Status              string     `json:"status" db:"status"`
	Reason              *string    `json:"reason" db:"reason"`
	InvitationID        *int64     `json:"invitation_id" db:"invitation_id"`
	InvitedAt           *time.Time `json:"invited_at" db:"invited_at"`
	ActivatedAt         time.Time  `json:"activated_at" db:"activated_at"`
	Revoked             bool       `json:"revoked" db:"revoked"`
	Repeats             int        `json:"repeats" db:"repeats"`
	ConsecutiveFailures int        `json:"consecutive_failures" db:"consecutive_failures"`
	DueAt               time.Time  `json:"due_at" db:"due_at"`
	ChangedAt           time.Time  `json:"changed_at" db:"changed_at"`
}

// Key identifies an invitation. Page sorts the invitations by these columns.
type Key struct {
	UserID     string `json:"user_id"`
	Repository string `json:"repository"`
	PaymentID  string `json:"provider_payment_id"`
}

// Key returns the invitation's key.
func (i Invitation) Key() Key { return Key{i.UserID, i.Repository, i.PaymentID} }

// WithReasons returns the invitations with Why as their reason, those that wait for nothing without one.
func WithReasons(list []Invitation) []Invitation {
	list = slices.Clone(list)
	for i := range list {
		if why := list[i].Why(); why != "-" {
			list[i].Reason = &why
		}
	}
	return list
}

// Why is the recorded reason. Without one, it says what the invitation waits for; "-" if it waits for nothing.
func (i Invitation) Why() string {
	switch {
	case i.Reason != nil && *i.Reason != "":
		return *i.Reason
	case i.Revoked && i.Status != Withdrawn:
		return "waits to be withdrawn"
	case i.Status != Pending:
		return "-"
	case i.GitHubUser == nil:
		return "waits for a GitHub user"
	case i.Repository == "":
		return "waits for INVITE_REPOSITORY"
	default:
		return "waits for its turn (quota, pause or no credentials)"
	}
}

//go:embed follow_renamed.sql
var followRenamed string

//go:embed record_purchases.sql
var recordPurchases string

//go:embed follow_purchases.sql
var followPurchases string

//go:embed withdraw_unsent.sql
var withdrawUnsent string

//go:embed end_future_waits.sql
var endFutureWaits string

// maxAhead is more than any recorded time is ahead of the clock: payfold waits a day at most (maxRetryAfter,
// watchInterval), and the clocks of two machines differ by less than an hour. A later time is that of a clock that was
// wrong, and does not count.
const maxAhead = 25 * time.Hour

// records reads and writes the invitations, attempts and pauses of one repository. Safe for concurrent use.
type records struct {
	tables     *store.Store
	repository string
	now        func() time.Time
	timeout    time.Duration // of one transaction, because a session can go silent
}

// defaultTimeout is long, because a scan of a large table on a busy database must end in this time.
const defaultTimeout = 5 * time.Minute

// scan compares the purchases of some users (nil: of all) with the recorded invitations.
// It records an invitation for each purchase without one that is kept or was refunded lately. If a
// purchase is kept after its invitation was withdrawn, it records the invitation anew. It also
// records GitHub users that became known, payments with a new id, and refunds. A second scan changes
// nothing. Once a repository is configured, scan deletes the invitations that were recorded without
// a repository, and records them again for it.
func (r records) scan(ctx context.Context, users []string) error {
	return r.serialized(ctx, func(ctx context.Context, tx pgx.Tx) error {
		steps, now := &pgx.Batch{}, r.now()
		if r.repository != "" {
			steps.Queue("delete from payfold.invitation where repository = ''")
		}
		for _, step := range []string{followRenamed, recordPurchases, followPurchases, withdrawUnsent} {
			steps.Queue(step, r.repository, now, users)
		}
		if users == nil {
			steps.Queue(endFutureWaits, r.repository, now, maxAhead)
		}
		if err := tx.SendBatch(ctx, steps).Close(); err != nil {
			return fmt.Errorf("look for purchases to invite: %w", err)
		}
		return nil
	})
}

// serialized runs one short transaction. The transactions of one repository run one after
// the other, in all processes.
func (r records) serialized(ctx context.Context, work func(context.Context, pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return pgx.BeginFunc(ctx, r.tables.Pool(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1, hashtext($2))", store.InvitationLock, r.repository); err != nil {
			return fmt.Errorf("wait for the lock of the repository: %w", err)
		}
		return work(ctx, tx)
	})
}

// Listing has all invitations, the oldest purchase first, and the pauses in force.
type Listing struct {
	Invitations []Invitation
	Pauses      []Pause
}

// List returns all invitations and pauses. The error is store.ErrNotPrepared if no projector
// has made their tables yet.
func List(ctx context.Context, tables *store.Store, now time.Time) (out Listing, err error) {
	if out.Invitations, err = list(ctx, tables.Pool(), "true", oldestFirst); err != nil {
		return Listing{}, orNotPrepared(err)
	}
	out.Pauses, err = Pauses(ctx, tables.Pool(), now)
	return out, err
}

func orNotPrepared(err error) error {
	if store.NotPrepared(err) {
		return store.ErrNotPrepared
	}
	return err
}

// OfUser returns a user's invitations, the oldest purchase first.
func OfUser(ctx context.Context, tx pgx.Tx, user string) ([]Invitation, error) {
	return list(ctx, tx, "user_id = $1", oldestFirst, user)
}

// Page returns at most limit invitations with a status (empty: any) whose keys come after a key.
func Page(ctx context.Context, tx pgx.Tx, after Key, status string, limit int) ([]Invitation, error) {
	return list(ctx, tx, "(user_id, repository, provider_payment_id) > ($1, $2, $3) and ($4 = '' or status = $4)",
		"user_id, repository, provider_payment_id limit $5", after.UserID, after.Repository, after.PaymentID, status, limit)
}

const oldestFirst = "activated_at, user_id, repository, provider_payment_id"

func list(ctx context.Context, from store.Querier, where, order string, args ...any) ([]Invitation, error) {
	return store.Collect(ctx, from, "list the invitations", pgx.RowToStructByName[Invitation], `select user_id, repository, provider_payment_id, github_username, status, reason, invitation_id,
		invited_at, activated_at, revoked, repeats, consecutive_failures, due_at, changed_at
		from payfold.invitation where `+where+` order by `+order, args...)
}
