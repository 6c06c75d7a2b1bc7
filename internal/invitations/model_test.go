package invitations

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// model is the tables of the inviter in memory. Its methods mean what the SQL of the package means.
// TestTheModelDoesWhatPostgresDoes compares both.
type model struct {
	payments    map[string]*modelPayment // portal.payment_facts
	invitations map[Key]*modelInvitation
	attempts    []*modelAttempt // in the order of their ids
	pauses      map[string]Pause
	nextAttempt int64
}

// modelPayment has the columns of a payment that the inviter reads. Its licence ends with its refund.
type modelPayment struct {
	ID, Transaction, Order string
	User                   string // empty: null
	Kind                   string
	GitHubUser             string // empty: null
	OccurredAt             time.Time
	EndedAt                *time.Time
}

type modelInvitation struct {
	Invitation
	NotOurs bool
}

type modelAttempt struct {
	ID         int64
	Key        Key
	GitHubUser string
	Purpose    string
	ReservedAt time.Time
	Unasked    bool
	AnsweredAt *time.Time
	Outcome    *string
	Answer     *string
}

func newModel() *model {
	return &model{payments: map[string]*modelPayment{}, invitations: map[Key]*modelInvitation{}, pauses: map[string]Pause{}, nextAttempt: 1}
}

// clone returns a copy of all but the payments, which belong to the projectors.
func (m *model) clone() *model {
	out := *m
	out.invitations, out.attempts, out.pauses = map[Key]*modelInvitation{}, nil, maps.Clone(m.pauses)
	for key, one := range m.invitations {
		copied := *one
		out.invitations[key] = &copied
	}
	for _, one := range m.attempts {
		copied := *one
		out.attempts = append(out.attempts, &copied)
	}
	return &out
}

// sorted returns the invitations in the order of their keys.
func (m *model) sorted() []*modelInvitation {
	return slices.SortedFunc(maps.Values(m.invitations), func(a, b *modelInvitation) int {
		return cmp.Or(cmp.Compare(a.UserID, b.UserID), cmp.Compare(a.Repository, b.Repository), cmp.Compare(a.PaymentID, b.PaymentID))
	})
}

func (m *model) sortedPayments() []*modelPayment {
	return slices.SortedFunc(maps.Values(m.payments), func(a, b *modelPayment) int { return cmp.Compare(a.ID, b.ID) })
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func pointerTo(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// sameName is lower(a) = lower(b), where null is equal to nothing.
func sameName(a, b string) bool { return a != "" && strings.EqualFold(a, b) }

func (m *model) ofUsers(users []string, user string) bool {
	return users == nil || slices.Contains(users, user)
}

// license returns the row of portal.license_facts of a payment; nil if it has none.
func (m *model) license(payment string) *modelPayment {
	if p := m.payments[payment]; p != nil && p.User != "" && p.Kind == "pro" {
		return p
	}
	return nil
}

func (m *model) kept(user, payment string) bool {
	l := m.license(payment)
	return l != nil && l.User == user && l.EndedAt == nil
}

func (a *modelAttempt) open() bool             { return a.Outcome == nil }
func (a *modelAttempt) is(outcome string) bool { return a.Outcome != nil && *a.Outcome == outcome }

func (m *model) anyAttempt(where func(*modelAttempt) bool) bool {
	return slices.ContainsFunc(m.attempts, where)
}

// followRenamed is follow_renamed.sql.
func (m *model) followRenamed(repository string, now time.Time, users []string) {
	type decision struct {
		from    *modelInvitation
		to      string
		certain bool
		taken   bool // it has another invitation
		moves   bool
	}
	var found, others []decision
	for _, i := range m.sorted() {
		if i.Repository != repository || i.Revoked || i.Status == Withdrawn || !m.ofUsers(users, i.UserID) {
			continue
		}
		if p := m.payments[i.PaymentID]; p != nil && p.User == i.UserID {
			continue
		}
		if m.anyAttempt(func(a *modelAttempt) bool {
			return a.Key.Repository == repository && sameName(a.GitHubUser, deref(i.GitHubUser)) && a.open()
		}) {
			continue
		}
		best := decision{}
		for _, p := range m.sortedPayments() {
			if p.User != i.UserID || p.Kind != "pro" {
				continue
			}
			certain := i.PaymentID == p.Transaction || i.PaymentID == p.Order
			like := p.OccurredAt.Equal(i.ActivatedAt) && strings.EqualFold(p.GitHubUser, deref(i.GitHubUser))
			taken := m.invitations[Key{i.UserID, repository, p.ID}] != nil
			if (certain || like) && (best.from == nil || cmp.Or(b2i(best.certain)-b2i(certain), b2i(taken)-b2i(best.taken)) < 0) {
				best = decision{from: i, to: p.ID, certain: certain, taken: taken}
			}
		}
		if best.from != nil {
			found = append(found, best)
			continue
		}
		for _, p := range m.sortedPayments() {
			if (p.ID == i.PaymentID || p.Order == i.PaymentID) && p.User != "" && p.User != i.UserID {
				others = append(others, decision{from: i, certain: true})
				break
			}
		}
	}
	for n := range found {
		f := &found[n]
		f.moves = !f.taken
		for _, o := range found {
			first := cmp.Or(b2i(o.certain)-b2i(f.certain), cmp.Compare(f.from.PaymentID, o.from.PaymentID)) > 0
			if o.from != f.from && o.from.UserID == f.from.UserID && o.to == f.to && first {
				f.moves = false
			}
		}
	}
	for _, d := range append(found, others...) {
		i := d.from
		if d.moves {
			for _, a := range m.attempts {
				if a.Key == i.Key() {
					a.Key.PaymentID = d.to
				}
			}
		}
		if !d.moves && !d.certain {
			continue
		}
		if d.moves {
			delete(m.invitations, i.Key())
			i.PaymentID = d.to
			m.invitations[i.Key()] = i
		} else {
			i.DueAt = now
		}
		i.Revoked, i.ChangedAt = !d.moves, now
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// recordPurchases is record_purchases.sql.
func (m *model) recordPurchases(repository string, now time.Time, users []string) {
	var insert []*modelInvitation
	for _, p := range m.sortedPayments() {
		if m.license(p.ID) == nil || !m.ofUsers(users, p.User) {
			continue
		}
		if p.EndedAt != nil && (repository == "" || p.GitHubUser == "" || !p.EndedAt.After(now.Add(-expiresAfter))) {
			continue
		}
		if slices.ContainsFunc(m.sorted(), func(i *modelInvitation) bool {
			return i.UserID == p.User && (i.Repository == repository || repository == "") && i.PaymentID == p.ID &&
				(i.Status != Withdrawn || i.Repository != repository || p.EndedAt != nil)
		}) {
			continue
		}
		if m.invitations[Key{p.User, repository, p.ID}] == nil && slices.ContainsFunc(m.sorted(), func(i *modelInvitation) bool {
			f := m.payments[i.PaymentID]
			return i.UserID == p.User && i.Repository == repository && !i.Revoked && i.Status != Withdrawn && (f == nil || f.User != i.UserID) &&
				i.ActivatedAt.Equal(p.OccurredAt) && strings.EqualFold(deref(i.GitHubUser), p.GitHubUser)
		}) {
			continue
		}
		var ended *modelInvitation
		for _, i := range m.sorted() {
			if i.Repository == repository && i.UserID == p.User && (i.Status == Declined || i.Status == Expired) && sameName(deref(i.GitHubUser), p.GitHubUser) &&
				(ended == nil || i.ChangedAt.After(ended.ChangedAt)) {
				ended = i
			}
		}
		one := &modelInvitation{Invitation: Invitation{
			UserID: p.User, Repository: repository, PaymentID: p.ID, GitHubUser: pointerTo(p.GitHubUser), Status: Pending,
			ActivatedAt: p.OccurredAt, Revoked: p.EndedAt != nil, DueAt: now, ChangedAt: now,
		}}
		if ended != nil && ended.ChangedAt.After(p.OccurredAt) {
			one.Status, one.Reason = ended.Status, ended.Reason
		}
		insert = append(insert, one)
	}
	for _, one := range insert {
		before := m.invitations[one.Key()]
		if before == nil {
			m.invitations[one.Key()] = one
			continue
		}
		if before.Status != Withdrawn || one.Revoked {
			continue
		}
		if before.InvitedAt == nil {
			before.GitHubUser = one.GitHubUser
		}
		before.Status, before.Reason, before.Revoked, before.Repeats, before.ConsecutiveFailures = one.Status, one.Reason, false, 0, 0
		before.DueAt, before.ChangedAt = now, now
	}
}

// followPurchases is follow_purchases.sql.
func (m *model) followPurchases(repository string, now time.Time, users []string) {
	for _, i := range m.sorted() {
		p := m.payments[i.PaymentID]
		if i.Repository != repository || i.Status == Withdrawn || !m.ofUsers(users, i.UserID) || p == nil || p.User != i.UserID && (p.User != "" || p.Kind == "pro") {
			continue
		}
		l := m.license(i.PaymentID)
		revoked := l == nil || l.EndedAt != nil
		name := i.GitHubUser
		if i.Status == Pending && i.InvitedAt == nil && !m.anyAttempt(func(a *modelAttempt) bool {
			return a.Key == i.Key() && sameName(a.GitHubUser, deref(i.GitHubUser)) && !a.is(OutcomeNotSent)
		}) {
			name = pointerTo(p.GitHubUser)
		}
		if revoked == i.Revoked && deref(name) == deref(i.GitHubUser) {
			continue
		}
		if i.Revoked && !revoked {
			i.Status, i.Repeats = Pending, 0
		}
		i.GitHubUser, i.Revoked, i.DueAt, i.ConsecutiveFailures, i.ChangedAt = name, revoked, now, 0, now
	}
}

// withdrawUnsent is withdraw_unsent.sql.
func (m *model) withdrawUnsent(repository string, now time.Time, users []string) {
	for _, i := range m.invitations {
		if i.Repository == repository && i.Revoked && i.Status == Pending && (i.GitHubUser == nil || repository == "") && m.ofUsers(users, i.UserID) {
			reason := "revoked before it was sent"
			i.Status, i.Reason, i.ChangedAt = Withdrawn, &reason, now
		}
	}
}

// endFutureWaits is end_future_waits.sql.
func (m *model) endFutureWaits(repository string, now time.Time) {
	if m.pauses[repository].Until.After(now.Add(maxAhead)) {
		delete(m.pauses, repository)
	}
	for _, i := range m.invitations {
		if i.Repository == repository && i.DueAt.After(now.Add(maxAhead)) {
			i.DueAt = now
		}
	}
}

// scanSteps are the statements of records.scan.
func (m *model) scanSteps(repository string, now time.Time, users []string) []func() {
	steps := []func(){
		func() { m.followRenamed(repository, now, users) },
		func() { m.recordPurchases(repository, now, users) },
		func() { m.followPurchases(repository, now, users) },
		func() { m.withdrawUnsent(repository, now, users) },
	}
	if repository != "" {
		first := func() {
			maps.DeleteFunc(m.invitations, func(key Key, _ *modelInvitation) bool { return key.Repository == "" })
		}
		steps = append([]func(){first}, steps...)
	}
	if users == nil {
		steps = append(steps, func() { m.endFutureWaits(repository, now) })
	}
	return steps
}

// paused is the first statement of records.reserve.
func (m *model) paused(repository string, now time.Time) bool {
	return m.pauses[repository].Until.After(now)
}

// endAttempts is end_attempts.sql.
func (m *model) endAttempts(repository string, now time.Time) {
	for _, a := range m.attempts {
		if a.Key.Repository != repository || !a.open() || a.ReservedAt.After(now.Add(-attemptExpiry)) && !a.ReservedAt.After(now.Add(maxAhead)) {
			continue
		}
		outcome, answer := OutcomeUnknown, "no answer was recorded"
		if a.Unasked {
			outcome = OutcomeNotSent
		}
		a.Outcome, a.AnsweredAt, a.Answer = &outcome, &now, &answer
	}
}

func (m *model) quotaUsed(repository string, now time.Time) (used int) {
	for _, a := range m.attempts {
		if a.Key.Repository == repository && a.Purpose == AttemptInvite && !a.is(OutcomeNotSent) && m.ofTheDay(a.ReservedAt, now) {
			used++
		}
	}
	return used
}

func (m *model) ofTheDay(at, now time.Time) bool {
	return at.After(now.Add(-24*time.Hour)) && !at.After(now.Add(maxAhead))
}

// choice is an invitation that reserve_attempt.sql may choose.
type choice struct {
	turn    int
	purpose string
	of      *modelInvitation
}

// choices are the attempts that reserve_attempt.sql may reserve. There are several where its order leaves it open.
func (m *model) choices(repository string, now time.Time, perDay int) (possible []choice) {
	var turns [5][]*modelInvitation
	add := func(turn int, i *modelInvitation, order func(a, b *modelInvitation) int) {
		switch first := turns[turn]; {
		case len(first) == 0 || order(i, first[0]) < 0:
			turns[turn] = []*modelInvitation{i}
		case order(i, first[0]) == 0:
			turns[turn] = append(first, i)
		}
	}
	oldest := func(a, b *modelInvitation) int {
		return cmp.Or(cmp.Compare(a.ConsecutiveFailures, b.ConsecutiveFailures), a.ActivatedAt.Compare(b.ActivatedAt), cmp.Compare(a.UserID, b.UserID))
	}
	due := func(a, b *modelInvitation) int {
		return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.UserID, b.UserID))
	}
	used := m.quotaUsed(repository, now)
	for _, i := range m.sorted() {
		name := deref(i.GitHubUser)
		if i.Repository != repository || name == "" || i.DueAt.After(now) || i.Status == Withdrawn || m.anyAttempt(func(a *modelAttempt) bool {
			return a.Key.Repository == repository && sameName(a.GitHubUser, name) && (a.open() || a.is(OutcomeUnknown) &&
				a.AnsweredAt.After(now.Add(-lateAction)) && !a.AnsweredAt.After(now.Add(maxAhead)))
		}) {
			continue
		}
		kept := m.kept(i.UserID, i.PaymentID)
		if kept && i.Status == Pending && !i.Revoked {
			if used < perDay {
				add(1, i, oldest)
			}
			if m.anyAttempt(func(a *modelAttempt) bool {
				return a.Key.Repository == repository && a.Purpose == AttemptInvite && a.is(OutcomeUnknown) && m.ofTheDay(a.ReservedAt, now) && sameName(a.GitHubUser, name)
			}) {
				add(2, i, oldest)
			}
		}
		if i.Revoked && !kept {
			add(3, i, due)
		}
		if kept && i.Status == Invited && !i.Revoked {
			add(4, i, due)
		}
	}
	purposes := [5]string{1: AttemptInvite, 2: AttemptInvite, 3: AttemptWithdraw, 4: "watch"}
	for turn, all := range turns {
		for _, i := range all {
			if !slices.ContainsFunc([]int{1, 2, 3, 4}, func(other int) bool { // an attempt of another turn always goes first
				return other != turn && len(turns[other]) > 0 && !slices.ContainsFunc(turns[other], func(o *modelInvitation) bool {
					return cmp.Or(cmp.Compare(i.ConsecutiveFailures, o.ConsecutiveFailures), cmp.Compare(turn, other)) < 0
				})
			}) {
				possible = append(possible, choice{turn, purposes[turn], i})
			}
		}
	}
	return possible
}

// reserveChoice is the rest of reserve_attempt.sql, for the attempt that was chosen.
func (m *model) reserveChoice(c choice, now time.Time) *Attempt {
	n, name := c.of, *c.of.GitHubUser
	out := &Attempt{Invitation: n.Invitation, ID: m.nextAttempt, Purpose: c.purpose, NotOurs: n.NotOurs, MaySince: n.ActivatedAt, Sent: []int64{}}
	for _, a := range m.attempts {
		if a.Key.Repository == n.Repository && sameName(a.GitHubUser, name) && a.Purpose == AttemptInvite && a.is(OutcomeUnknown) {
			out.Unknown = true
			if a.ReservedAt.Before(out.MaySince) {
				out.MaySince = a.ReservedAt
			}
		}
	}
	for _, o := range m.sorted() {
		if o.Repository != n.Repository {
			continue
		}
		same := sameName(deref(o.GitHubUser), name)
		if same && o.Status == Pending && o.InvitedAt == nil && o.ActivatedAt.Before(out.MaySince) {
			out.MaySince = o.ActivatedAt
		}
		if same && o.InvitedAt != nil && !o.NotOurs {
			out.InvitedByUs = true
		}
		if (o.Status == Pending || o.Status == Invited) && o.InvitationID != nil && !o.NotOurs {
			out.Sent = append(out.Sent, *o.InvitationID)
		}
		sameInvitation := o.InvitationID != nil && n.InvitationID != nil && *o.InvitationID == *n.InvitationID
		if p := m.payments[o.PaymentID]; (same || sameInvitation) && o.Key() != n.Key() && !o.Revoked && o.Status != Withdrawn &&
			(p == nil || p.User != o.UserID || m.kept(o.UserID, o.PaymentID)) {
			out.Shared = true
		}
	}
	for _, p := range m.payments {
		if m.kept(p.User, p.ID) && sameName(p.GitHubUser, name) && m.invitations[Key{p.User, n.Repository, p.ID}] == nil {
			out.Shared = true
		}
	}
	m.attempts = append(m.attempts, &modelAttempt{ID: m.nextAttempt, Key: n.Key(), GitHubUser: name, Purpose: c.purpose, ReservedAt: now, Unasked: true})
	m.nextAttempt++
	if out.Purpose == AttemptWithdraw && !out.Shared {
		m.lookAgain(out, now, Invited, Collaborator)
	}
	return out
}

func (m *model) lookAgain(attempt *Attempt, now time.Time, statuses ...string) {
	for _, i := range m.invitations {
		if i.Repository == attempt.Repository && sameName(deref(i.GitHubUser), *attempt.GitHubUser) && slices.Contains(statuses, i.Status) {
			i.Status, i.DueAt, i.ChangedAt = Pending, now, now
		}
	}
}

func (m *model) attempt(id int64) *modelAttempt {
	for _, a := range m.attempts {
		if a.ID == id {
			return a
		}
	}
	return nil
}

// asking is records.asking.
func (m *model) asking(attempt *Attempt) error {
	a := m.attempt(attempt.ID)
	if a == nil || !a.open() {
		return errAttemptExpired
	}
	a.Unasked = false
	return nil
}

// record is records.record.
func (m *model) record(attempt *Attempt, answer Answer, now time.Time) error {
	a := m.attempt(attempt.ID)
	if a == nil || !a.open() {
		m.recordLate(attempt, answer, now)
		return errAttemptExpired
	}
	a.Outcome, a.Answer, a.AnsweredAt = &answer.Outcome, &answer.Message, &now
	m.recordNext(answer, now)
	if answer.Ended != "" {
		m.endEarlier(attempt, answer)
	}
	return nil
}

func (m *model) recordLate(attempt *Attempt, answer Answer, now time.Time) {
	if answer.Outcome == OutcomeNotSent && answer.Ended != OutcomeSent {
		return
	}
	name := *attempt.GitHubUser
	for _, a := range m.attempts {
		if a.ID == attempt.ID || a.Key.Repository == attempt.Repository && sameName(a.GitHubUser, name) && a.open() {
			outcome := OutcomeUnknown
			a.Outcome, a.AnsweredAt = &outcome, &now
		}
	}
	m.lookAgain(attempt, now, Invited, Collaborator, Withdrawn)
}

func (m *model) recordNext(answer Answer, now time.Time) {
	next := answer.Next
	i := m.invitations[next.Key()]
	if i == nil {
		return
	}
	revoked := i.Revoked
	i.Status, i.DueAt = next.Status, next.DueAt
	if next.Revoked && !revoked {
		i.Status = Pending
	}
	if revoked != next.Revoked {
		i.DueAt = now
	}
	i.Reason, i.InvitationID, i.InvitedAt, i.Repeats, i.ConsecutiveFailures, i.ChangedAt = next.Reason, next.InvitationID, next.InvitedAt, next.Repeats, next.ConsecutiveFailures, now
	if answer.NotOurs != nil {
		i.NotOurs = *answer.NotOurs
	}
}

func (m *model) endEarlier(attempt *Attempt, answer Answer) {
	name := *attempt.GitHubUser
	for _, a := range m.attempts {
		if a.Key.Repository == attempt.Repository && sameName(a.GitHubUser, name) && a.is(OutcomeUnknown) &&
			a.Purpose == AttemptInvite && a.ID < attempt.ID {
			a.Outcome = &answer.Ended
		}
	}
	for _, i := range m.invitations {
		if i.Repository != attempt.Repository || !sameName(deref(i.GitHubUser), name) {
			continue
		}
		if i.Status != Invited && i.InvitedAt != nil && (i.Status != Pending || attempt.Purpose != AttemptWithdraw) {
			i.NotOurs = true
		}
	}
}

// pause is records.pause.
func (m *model) pause(pause Pause) {
	if before, is := m.pauses[pause.Repository]; !is || before.Until.Before(pause.Until) {
		m.pauses[pause.Repository] = pause
	}
}

// resume is records.resume.
func (m *model) resume(repository string, now time.Time) {
	if m.pauses[repository].Cause == PauseDenied {
		delete(m.pauses, repository)
	}
	for _, i := range m.invitations {
		if i.Repository == repository && i.Status != Withdrawn && i.ConsecutiveFailures > 0 && i.DueAt.After(now) {
			i.DueAt = now
		}
	}
}

// retry is retry_invitations.sql.
func (m *model) retry(user string, now time.Time) (repositories []string) {
	for _, i := range m.sorted() {
		p := m.license(i.PaymentID)
		if i.UserID != user || p == nil || !m.kept(user, i.PaymentID) || i.Revoked || m.anyAttempt(func(a *modelAttempt) bool { return a.Key == i.Key() && a.open() }) {
			continue
		}
		switch i.Status {
		case Failed, Expired, Declined:
		case Pending:
			if i.ConsecutiveFailures == 0 {
				continue
			}
		default:
			continue
		}
		name := cmp.Or(p.GitHubUser, deref(i.GitHubUser))
		if !sameName(name, deref(i.GitHubUser)) {
			i.InvitationID, i.InvitedAt = nil, nil
		}
		i.GitHubUser = pointerTo(name)
		reason := "asked for again"
		i.Status, i.Reason, i.Repeats, i.ConsecutiveFailures, i.DueAt, i.ChangedAt = Pending, &reason, 0, 0, now, now
		repositories = append(repositories, i.Repository)
	}
	return repositories
}
