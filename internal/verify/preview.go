package verify

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/store"
)

// Preview says what a rebuild under some rules would change. It folds the log beside the live tables, and compares at
// one moment what each user has. Like Verify it changes neither the tables nor the log; nobody is invited or notified.
type Preview struct {
	Log      rebuild.Log
	Tables   *store.Store // the live tables, of this RulesVersion and any catalogue and mode
	Rules    projections.Rules
	Logger   *slog.Logger
	Progress func(position, until uint64) // see rebuild.Rebuild
	Limit    int                          // how many changes have an event; 0: all
}

// Previewed is what a rebuild would change.
type Previewed struct {
	Position uint64 `json:"position"` // both have all messages up to here
	FoldID   string `json:"fold_id"`  // of the rules
	Before   string `json:"fold_id_now"`
	Users    int    `json:"users"`  // whose credits or rights would change
	Rows     int    `json:"rows"`   // that would change, also those of no user
	Gained   Sum    `json:"gained"` // more credits
	Lost     Sum    `json:"lost"`   // fewer credits

	GainedRights map[string]int `json:"gained_rights"` // kind → users who would be entitled to one product more, at least
	LostRights   map[string]int `json:"lost_rights"`

	Changes []UserChange `json:"-"` // the largest change of credits first
}

// Sum counts users and their credits.
type Sum struct {
	Users   int   `json:"users"`
	Credits int64 `json:"credits"`
}

// UserChange is what would change for one user.
type UserChange struct {
	UserID string   `json:"user_id"`
	Now    Holdings `json:"now"`
	Then   Holdings `json:"then"`
	// EventID is the newest event with a row that would change, by its place in the log; empty above the Limit.
	EventID   string `json:"event_id,omitempty"`
	StreamSeq int64  `json:"stream_seq,omitempty"`
}

// Holdings are what a user has.
type Holdings struct {
	Credits int64   `json:"credits"` // granted and not taken back, also those of later months and expired ones
	Rights  []Right `json:"entitlement"`

	ledger string // of the months and expiry of the credits
	rights []byte
}

// Right is a row of the view entitlement.
type Right struct {
	ProductKey string     `json:"product_key"`
	Kind       string     `json:"kind"`
	Active     bool       `json:"active"`
	Status     string     `json:"status"`
	Until      *time.Time `json:"until"`
	EventID    string     `json:"event_id"`
}

// Nothing reports whether a rebuild would change nothing.
func (p Previewed) Nothing() bool { return p.Users == 0 && p.Rows == 0 }

// Credits is how many credits the user would gain; below zero: lose.
func (c *UserChange) Credits() int64 { return c.Then.Credits - c.Now.Credits }

// checkVersion returns an error if the live tables are of another RulesVersion, because they can have other columns.
func (p *Preview) checkVersion(ctx context.Context) error {
	live, err := p.Tables.SchemaNamed(ctx, store.LiveSchema)
	if err != nil {
		return err
	}
	const ours = "rules " + projections.RulesVersion
	if have, _, _ := strings.Cut(live.FoldID, ","); have != ours {
		return fmt.Errorf("the live tables were folded under %q, and this program has %q, whose tables can have other columns, "+
			"so they cannot be compared: projector rebuild makes the new tables beside them", have, ours)
	}
	return nil
}

// Run compares once. After an error nothing of the result counts.
func (p *Preview) Run(ctx context.Context) (Previewed, error) {
	out := Previewed{FoldID: p.Rules.FoldID(), GainedRights: map[string]int{}, LostRights: map[string]int{}}
	if err := p.checkVersion(ctx); err != nil {
		return out, err
	}
	fold := rebuild.Rebuild{Log: p.Log, Rules: p.Rules, Logger: p.Logger, Progress: p.Progress}
	b := &beside{tables: p.Tables, fold: fold}
	err := b.run(ctx, func() error {
		frozen, err := b.freeze(ctx)
		if err != nil {
			return err
		}
		defer frozen.Close()
		then, err := beginAt(ctx, b.fold.Store)
		if err != nil {
			return err
		}
		defer endRead(then)
		upTo, err := b.foldTo(ctx, frozen)
		if err != nil {
			return err
		}
		out.Position, out.Before = upTo.Highest(), frozen.schema.FoldID
		if err := frozen.Compare(ctx, b.fold.Store, p.Rules, func(Difference) { out.Rows++ }); err != nil {
			return err
		}
		if err := out.compareHoldings(ctx, frozen.tx, then); err != nil {
			return err
		}
		if err := out.explain(ctx, frozen.tx, then, p.Limit); err != nil {
			return err
		}
		return frozen.store.CheckTables(ctx, frozen.tx, frozen.tables)
	})
	return out, err
}

// beginAt begins a transaction that sees what others commit meanwhile. Its now() is that of the snapshot, except for
// the time of two round trips, so that rights that end by the clock are no difference.
func beginAt(ctx context.Context, s *store.Store) (pgx.Tx, error) {
	tx, err := s.Pool().BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	if _, err := tx.Exec(ctx, "set local idle_in_transaction_session_timeout = 0"); err != nil { // it waits for the fold
		endRead(tx)
		return nil, fmt.Errorf("begin: %w", err)
	}
	return tx, nil
}

//go:embed holdings.sql
var holdingsSQL string

// users reads what each user has, one user after the other.
type users struct {
	rows pgx.Rows
	id   string // of the current user; empty at the end
	has  Holdings
}

func readUsers(ctx context.Context, tx pgx.Tx, seed int64) (*users, error) {
	rows, err := tx.Query(ctx, holdingsSQL, seed)
	if err != nil {
		return nil, err
	}
	u := &users{rows: rows}
	return u, u.next()
}

func (u *users) next() error {
	u.id, u.has = "", Holdings{}
	if !u.rows.Next() {
		return u.rows.Err()
	}
	if err := u.rows.Scan(&u.id, &u.has.Credits, &u.has.ledger, &u.has.rights); err != nil {
		return err
	}
	return json.Unmarshal(u.has.rights, &u.has.Rights)
}

// compareHoldings finds the users who would have something else.
func (p *Previewed) compareHoldings(ctx context.Context, now, then pgx.Tx) error {
	seed := rand.Int64()
	left, err := readUsers(ctx, now, seed)
	if err != nil {
		return fmt.Errorf("read what users have: %w", err)
	}
	defer left.rows.Close()
	right, err := readUsers(ctx, then, seed)
	if err != nil {
		return fmt.Errorf("read what users would have: %w", err)
	}
	defer right.rows.Close()
	for left.id != "" || right.id != "" {
		c := UserChange{UserID: left.id}
		fromLeft := left.id != "" && (right.id == "" || left.id <= right.id)
		fromRight := right.id != "" && (left.id == "" || right.id <= left.id)
		if fromLeft {
			c.Now = left.has
			err = left.next()
		}
		if fromRight && err == nil {
			c.UserID, c.Then = right.id, right.has
			err = right.next()
		}
		if err != nil {
			return fmt.Errorf("compare what users have: %w", err)
		}
		if !c.Now.same(&c.Then) {
			p.add(c)
		}
	}
	slices.SortStableFunc(p.Changes, func(a, b UserChange) int { return cmp.Compare(b.size(), a.size()) })
	return nil
}

// same reports whether a user with either has the same. Which event decided a right does not matter.
func (h *Holdings) same(as *Holdings) bool {
	return h.Credits == as.Credits && cmp.Or(h.ledger, "0") == cmp.Or(as.ledger, "0") &&
		slices.EqualFunc(h.Rights, as.Rights, func(a, b Right) bool {
			a.EventID, b.EventID = "", ""
			until := a.Until == b.Until || a.Until != nil && b.Until != nil && a.Until.Equal(*b.Until)
			a.Until, b.Until = nil, nil
			return until && a == b
		})
}

// add counts a change.
func (p *Previewed) add(c UserChange) {
	p.Changes, p.Users = append(p.Changes, c), p.Users+1
	switch credits := c.Credits(); {
	case credits > 0:
		p.Gained.Users, p.Gained.Credits = p.Gained.Users+1, p.Gained.Credits+credits
	case credits < 0:
		p.Lost.Users, p.Lost.Credits = p.Lost.Users+1, p.Lost.Credits-credits
	}
	for kind := range kindsOf(c.Gained()) {
		p.GainedRights[kind]++
	}
	for kind := range kindsOf(c.Lost()) {
		p.LostRights[kind]++
	}
}

func kindsOf(rights []Right) map[string]bool {
	kinds := map[string]bool{}
	for _, right := range rights {
		kinds[right.Kind] = true
	}
	return kinds
}

// Gained lists the rights that the user would have and has not now. A right counts while it is active.
func (c *UserChange) Gained() []Right { return missingIn(c.Now.Rights, c.Then.Rights) }

// Lost lists the rights that the user has now and would not have.
func (c *UserChange) Lost() []Right { return missingIn(c.Then.Rights, c.Now.Rights) }

func missingIn(some, all []Right) (missing []Right) {
	for _, right := range all {
		has := slices.ContainsFunc(some, func(r Right) bool {
			return r.Active && r.ProductKey == right.ProductKey && r.Kind == right.Kind
		})
		if right.Active && !has {
			missing = append(missing, right)
		}
	}
	return missing
}

func (c *UserChange) size() int64 { return max(c.Credits(), -c.Credits()) }

//go:embed explaining_rows.sql
var explainingRowsSQL string

// maxExplained is how many users one query explains.
const maxExplained = 500

// explain finds the newest event of each change, of the first ones only if there is a limit.
func (p *Previewed) explain(ctx context.Context, now, then pgx.Tx, limit int) error {
	changes := p.Changes
	if limit > 0 {
		changes = changes[:min(limit, len(changes))]
	}
	for some := range slices.Chunk(changes, maxExplained) {
		ids := make([]string, 0, len(some))
		for _, c := range some {
			ids = append(ids, c.UserID)
		}
		before, err := readExplaining(ctx, now, ids)
		if err != nil {
			return err
		}
		after, err := readExplaining(ctx, then, ids)
		if err != nil {
			return err
		}
		newest := newestOf(before, after)
		for i := range some {
			if row, found := newest[some[i].UserID]; found {
				some[i].EventID, some[i].StreamSeq = row.event, row.seq
			}
		}
	}
	return nil
}

// explaining is a row that says why a user has something.
type explaining struct {
	user, key, event string
	seq              int64
	says             string
}

func readExplaining(ctx context.Context, tx pgx.Tx, ids []string) (map[[2]string]explaining, error) {
	found := map[[2]string]explaining{}
	rows, _ := tx.Query(ctx, explainingRowsSQL, ids) // ForEachRow returns its error
	var row explaining
	_, err := pgx.ForEachRow(rows, []any{&row.user, &row.key, &row.event, &row.seq, &row.says}, func() error {
		found[[2]string{row.user, row.key}] = row
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read why users have what they have: %w", err)
	}
	return found, nil
}

// newestOf returns for each user the row with the newest event, of those that differ.
func newestOf(before, after map[[2]string]explaining) map[string]explaining {
	newest := map[string]explaining{}
	differ := func(some, others map[[2]string]explaining) {
		for key, row := range some {
			if other, has := others[key]; (!has || other.says != row.says) && row.seq > newest[row.user].seq {
				newest[row.user] = row
			}
		}
	}
	differ(after, before)
	differ(before, after)
	return newest
}
