package events

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The oracle is Parse a second time, slow and plain: jsontext reads the JSON,
// struct tags say where each field is. Parse must agree with it on every body.

// oracleLenient: below the envelope the last of two equal keys counts, and a lone
// surrogate spoils only the field that holds it. Raw bytes are checked apart.
var oracleLenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// oracleParse decodes one body: exactly one JSON object in valid UTF-8, at most
// MaxDepth deep, with id, eventType and object each exactly once, id and
// eventType non-empty strings, object an object. The error is a *SyntaxError.
func oracleParse(body []byte) (Event, error) {
	if !utf8.Valid(body) {
		return Event{}, &SyntaxError{"the body is not valid UTF-8"}
	}
	if oracleTooDeep(body) {
		return Event{}, &SyntaxError{fmt.Sprintf("the body nests deeper than %d", MaxDepth)}
	}
	envelope, err := oracleReadEnvelope(jsontext.NewDecoder(bytes.NewBuffer(body), oracleLenient))
	if err != nil {
		return Event{}, err
	}
	return envelope.event(), nil
}

type oracleEnvelope struct {
	id, eventType, createdAt oracleScalar
	object                   oracleRef[oracleObject]
}

func oracleReadEnvelope(dec *jsontext.Decoder) (*oracleEnvelope, error) {
	if dec.PeekKind() != '{' {
		return nil, oracleNotJSON(dec)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, oracleNotJSON(dec)
	}
	var e oracleEnvelope
	seen := map[string]int{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, oracleNotJSON(dec)
		}
		key := name.String()
		if err := e.readField(dec, key); err != nil {
			return nil, oracleNotJSON(dec)
		}
		seen[key]++
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, oracleNotJSON(dec)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, &SyntaxError{"the body continues after its JSON object"}
	}
	for _, key := range []string{"id", "eventType", "object"} {
		switch seen[key] {
		case 0:
			return nil, &SyntaxError{key + " is missing"}
		case 1:
		default:
			return nil, &SyntaxError{key + " is given twice"}
		}
	}
	return &e, e.check()
}

func (e *oracleEnvelope) readField(dec *jsontext.Decoder, key string) error {
	switch key {
	case "id":
		return e.id.UnmarshalJSONFrom(dec)
	case "eventType":
		return e.eventType.UnmarshalJSONFrom(dec)
	case "created_at":
		return e.createdAt.UnmarshalJSONFrom(dec)
	case "object":
		return e.object.UnmarshalJSONFrom(dec)
	default:
		return dec.SkipValue()
	}
}

func (e *oracleEnvelope) check() error {
	for _, field := range []struct {
		name  string
		value oracleScalar
	}{{"id", e.id}, {"eventType", e.eventType}} {
		if field.value.kind != '"' || field.value.broken {
			return &SyntaxError{field.name + " is not a non-empty string of Unicode text"}
		}
	}
	if !e.object.whole {
		return &SyntaxError{"object is not a JSON object"}
	}
	return nil
}

func oracleNotJSON(dec *jsontext.Decoder) error {
	return &SyntaxError{fmt.Sprintf("the body is not one JSON object: truncated or invalid near byte %d", dec.InputOffset())}
}

// oracleTooDeep counts the brackets outside of strings. It need not know JSON: where
// the body is not JSON, the decoder says so.
func oracleTooDeep(body []byte) bool {
	if bytes.Count(body, []byte{'{'})+bytes.Count(body, []byte{'['}) <= MaxDepth {
		return false
	}
	depth, inString := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

type oracleObject struct {
	ID             oracleScalar                 `json:"id"`
	Mode           oracleScalar                 `json:"mode"`
	Metadata       oracleRef[oracleMetadata]    `json:"metadata"`
	Customer       oracleRef[oracleCustomer]    `json:"customer"`
	Product        oracleRef[oracleIdentity]    `json:"product"`
	Order          oracleRef[oracleOrder]       `json:"order"`
	Subscription   oracleRef[oracleNested]      `json:"subscription"`
	Checkout       oracleRef[oracleNested]      `json:"checkout"`
	Transaction    oracleRef[oracleTransaction] `json:"transaction"`
	LastTxn        oracleRef[oracleTransaction] `json:"last_transaction"`
	LastTxnID      oracleScalar                 `json:"last_transaction_id"`
	PaymentID      oracleScalar                 `json:"provider_payment_id"`
	SubscriptionID oracleScalar                 `json:"subscription_id"`
	UserID         oracleScalar                 `json:"user_id"`
	UserIDCamel    oracleScalar                 `json:"userId"`
	Credits        oracleScalar                 `json:"credits"`
	Units          oracleScalar                 `json:"units"`
	Items          oracleList[oracleItem]       `json:"items"`
	Status         oracleScalar                 `json:"status"`
	CanceledAt     oracleScalar                 `json:"canceled_at"`
	RefundAmount   oracleScalar                 `json:"refund_amount"`
	AmountPaid     oracleScalar                 `json:"amount_paid"`
	Amount         oracleScalar                 `json:"amount"`
	Currency       oracleScalar                 `json:"currency"`
	PeriodStartISO oracleScalar                 `json:"current_period_start_date"`
	PeriodEndISO   oracleScalar                 `json:"current_period_end_date"`
	PeriodStart    oracleScalar                 `json:"current_period_start"`
	PeriodEnd      oracleScalar                 `json:"current_period_end"`
}

type oracleMetadata struct {
	Kind             oracleScalar `json:"kind"`
	UserID           oracleScalar `json:"user_id"`
	UserIDCamel      oracleScalar `json:"userId"`
	ReferenceID      oracleScalar `json:"reference_id"`
	ReferenceIDCamel oracleScalar `json:"referenceId"`
	PaymentID        oracleScalar `json:"provider_payment_id"`
	ProductKey       oracleScalar `json:"product_key"`
	Key              oracleScalar `json:"key"`
	Credits          oracleScalar `json:"credits"`
	GitHubUsername   oracleScalar `json:"github_username"`
	GitHubCamel      oracleScalar `json:"githubUsername"`
	GitHubLogin      oracleScalar `json:"github_login"`
	GitHub           oracleScalar `json:"github"`
}

type oracleIdentity struct {
	ID oracleScalar `json:"id"`
}

type oracleCustomer struct {
	ID         oracleScalar              `json:"id"`
	ExternalID oracleScalar              `json:"external_id"`
	Metadata   oracleRef[oracleMetadata] `json:"metadata"`
}

type oracleNested struct {
	ID       oracleScalar              `json:"id"`
	Customer oracleRef[oracleIdentity] `json:"customer"`
	Metadata oracleRef[oracleMetadata] `json:"metadata"`
}

type oracleOrder struct {
	ID          oracleScalar              `json:"id"`
	Customer    oracleRef[oracleIdentity] `json:"customer"`
	Product     oracleRef[oracleIdentity] `json:"product"`
	Transaction oracleScalar              `json:"transaction"`
	AmountPaid  oracleScalar              `json:"amount_paid"`
	Amount      oracleScalar              `json:"amount"`
	Due         oracleScalar              `json:"amount_due"`
	Discount    oracleScalar              `json:"discount_amount"`
	Currency    oracleScalar              `json:"currency"`
	Metadata    oracleRef[oracleMetadata] `json:"metadata"`
}

type oracleTransaction struct {
	ID           oracleScalar              `json:"id"`
	Customer     oracleRef[oracleIdentity] `json:"customer"`
	Order        oracleRef[oracleIdentity] `json:"order"`
	Subscription oracleRef[oracleIdentity] `json:"subscription"`
	AmountPaid   oracleScalar              `json:"amount_paid"`
	Amount       oracleScalar              `json:"amount"`
	Due          oracleScalar              `json:"amount_due"`
	Discount     oracleScalar              `json:"discount_amount"`
	Refunded     oracleScalar              `json:"refunded_amount"`
	Currency     oracleScalar              `json:"currency"`
	PeriodStart  oracleScalar              `json:"period_start"`
	PeriodEnd    oracleScalar              `json:"period_end"`
}

type oracleItem struct {
	Units oracleScalar `json:"units"`
}

// oracleScalar is a string or a number of the body; anything else decodes as absent,
// but a boolean, array or object is remembered for fields that must be numbers.
type oracleScalar struct {
	text   string
	kind   jsontext.Kind // '"', '0', or 'x' for what is neither; 0 when absent
	broken bool          // the string holds a lone surrogate
}

func (s *oracleScalar) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*s = oracleScalar{}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	s.set(raw)
	return nil
}

func (s *oracleScalar) set(raw jsontext.Value) {
	switch s.kind = raw.Kind(); s.kind {
	case 'n':
		s.kind = 0
	case '0':
		s.text = string(raw)
	case '"':
		text, err := jsontext.AppendUnquote(nil, raw)
		s.text, s.broken = string(text), err != nil
		if s.text == "" {
			s.kind = 0
		}
	default:
		s.kind = 'x'
	}
}

// isText says whether the scalar names something: a string or a number's literal text.
func (s oracleScalar) isText() bool { return s.kind == '"' || s.kind == '0' }

// number reads a JSON number or a numeric string. 200, "200", 200.0 and 2e2 are
// the same number; 0.5, 1e400 and "ten" are Bad.
func (s oracleScalar) number() Number {
	if s.kind == 0 {
		return Number{}
	}
	bad := Number{Present: true, Bad: true}
	if !s.isText() || strings.Trim(s.text, "0123456789+-.eE") != "" {
		return bad
	}
	if value, err := strconv.ParseInt(s.text, 10, 64); err == nil {
		return Number{Value: value, Present: true}
	}
	float, err := strconv.ParseFloat(s.text, 64)
	if err != nil || float != math.Trunc(float) || math.Abs(float) > maxExactFloat {
		return bad
	}
	return Number{Value: int64(float), Present: true}
}

// moment reads epoch milliseconds or an RFC 3339 time, truncated to
// microseconds, in UTC. What is neither is absent: the zero time.
func (s oracleScalar) moment() time.Time {
	if !s.isText() || s.broken {
		return time.Time{}
	}
	var t time.Time
	if n := s.number(); !n.Bad {
		t = time.UnixMilli(n.Value)
	} else if parsed, err := time.Parse(time.RFC3339, s.text); err == nil {
		t = parsed
	}
	t = t.UTC().Truncate(time.Microsecond)
	if t.Year() < 1 || t.After(maxTime) {
		return time.Time{}
	}
	return t
}

// oracleRef is what a provider writes as an id or as the whole object.
type oracleRef[T any] struct {
	id     oracleScalar
	object T
	whole  bool
}

func (r *oracleRef[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*r = oracleRef[T]{}
	if dec.PeekKind() != '{' {
		return r.id.UnmarshalJSONFrom(dec)
	}
	r.whole = true
	return json.UnmarshalDecode(dec, &r.object)
}

// oracleList keeps the first element of an array of objects.
type oracleList[T any] struct{ first T }

func (l *oracleList[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*l = oracleList[T]{}
	if dec.PeekKind() != '[' {
		return dec.SkipValue()
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for i := 0; dec.PeekKind() != ']'; i++ {
		if i > 0 || dec.PeekKind() != '{' {
			if err := dec.SkipValue(); err != nil {
				return err
			}
			continue
		}
		if err := json.UnmarshalDecode(dec, &l.first); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// event picks every field from the places that may hold it: the first present
// one wins. Null and the empty string count as absent.
func (e *oracleEnvelope) event() Event {
	o := &e.object.object
	meta := o.metadata()
	out := Event{ID: CleanID(e.id.text), Type: CleanID(e.eventType.text), createdAt: e.createdAt.moment()}

	text := func(places ...oracleScalar) string {
		value := oracleFirst(places...)
		if value.broken || len(value.text) > MaxText || strings.ContainsRune(value.text, 0) {
			out.InvalidText = true
			return ""
		}
		return value.text
	}

	var ownID oracleScalar
	if strings.HasPrefix(e.eventType.text, "subscription.") {
		ownID = o.ID
	}
	user := []oracleScalar{
		meta.UserID, meta.UserIDCamel, meta.ReferenceID, meta.ReferenceIDCamel, o.UserID, o.UserIDCamel,
		o.Customer.object.ExternalID, o.Customer.object.Metadata.object.UserID, o.Customer.object.Metadata.object.UserIDCamel,
	}
	subscription := []oracleScalar{
		o.SubscriptionID, o.Subscription.object.ID, o.Subscription.id, ownID,
		o.Transaction.object.Subscription.object.ID, o.Transaction.object.Subscription.id,
	}
	transaction := []oracleScalar{
		o.PaymentID, o.Order.object.Transaction, o.LastTxnID,
		o.LastTxn.object.ID, o.Transaction.object.ID, o.Transaction.id,
	}
	order := []oracleScalar{
		o.Order.object.ID, o.Order.id, o.LastTxn.object.Order.object.ID, o.LastTxn.object.Order.id,
		o.Transaction.object.Order.object.ID, o.Transaction.object.Order.id,
	}

	fares := strings.HasPrefix(e.eventType.text, "subscription.") && e.eventType.text != "subscription.paid"
	if !oracleFirst(transaction...).isText() && !oracleFirst(order...).isText() && !fares {
		transaction = append(transaction, meta.PaymentID)
	}
	for _, place := range []oracleScalar{oracleFirst(transaction...), oracleFirst(order...), o.Status} {
		out.InvalidPayment = out.InvalidPayment || place.isText() && (place.broken || len(place.text) > MaxText || strings.ContainsRune(place.text, 0))
	}

	out.Kind = text(meta.Kind)
	out.UserID = text(user...)
	out.SubscriptionID = text(subscription...)
	out.Transaction = text(transaction...)
	out.Order = text(order...)
	product := oracleFirst(o.Product.object.ID, o.Product.id, o.Order.object.Product.object.ID, o.Order.object.Product.id)
	if !product.broken && len(product.text) <= MaxText && !strings.ContainsRune(product.text, 0) {
		out.Product = product.text
	}
	out.ProductKey = text(meta.ProductKey, meta.Key, product)
	out.GitHubUser = githubUser(text(meta.GitHubUsername, meta.GitHubCamel, meta.GitHubLogin, meta.GitHub))
	out.Mode = text(o.Mode)
	out.Status = text(o.Status)
	out.Credits = oracleFirstNumber(meta.Credits, o.Credits)
	out.Units = oracleFirstNumber(o.Units, o.Items.first.Units)
	out.PeriodStart = oracleFirstMoment(o.PeriodStartISO, o.PeriodStart, o.LastTxn.object.PeriodStart)
	out.PeriodEnd = oracleFirstMoment(o.PeriodEndISO, o.PeriodEnd, o.LastTxn.object.PeriodEnd)
	out.CanceledAt = o.CanceledAt.moment()
	out.RefundedTotal = oracleFirstNumber(o.Transaction.object.Refunded)
	out.RefundAmount = oracleFirstNumber(o.RefundAmount, o.Amount)
	out.PaidAmount = oracleFirstNumber(o.Transaction.object.AmountPaid)

	order0, txn := o.Order.object, o.LastTxn.object
	switch {
	case txn.AmountPaid.kind != 0 && !oracleUnpaid(txn.AmountPaid, txn.Amount, txn.Due, txn.Discount):
		out.Amount, out.Currency, out.AmountOfTransaction = txn.AmountPaid.number(), text(txn.Currency), true
	case order0.AmountPaid.kind != 0 && !oracleUnpaid(order0.AmountPaid, order0.Amount, order0.Due, order0.Discount):
		out.Amount, out.Currency = order0.AmountPaid.number(), text(order0.Currency)
	case o.AmountPaid.kind != 0:
		out.Amount, out.Currency = o.AmountPaid.number(), text(o.Currency)
	case o.Amount.kind != 0:
		out.Amount, out.Currency = o.Amount.number(), text(o.Currency)
	}

	customer := []oracleScalar{
		o.Customer.object.ID, o.Customer.id, o.Order.object.Customer.object.ID, o.Order.object.Customer.id,
		o.Subscription.object.Customer.object.ID, o.Subscription.object.Customer.id,
		o.Transaction.object.Customer.object.ID, o.Transaction.object.Customer.id,
	}
	out.key = oracleFirst(oracleFirst(customer...), oracleFirst(user...), oracleFirst(subscription...), oracleFirst(transaction...), oracleFirst(order...), e.id).text
	return out
}

// oracleUnpaid: nothing was paid so far, something is due, and no discount covers it.
func oracleUnpaid(paid, amount, due, discount oracleScalar) bool {
	if n := paid.number(); n != (Number{Present: true}) || due.number().Value <= 0 {
		return false
	}
	covered := discount.number().Value >= due.number().Value || amount.kind != 0 && discount.number().Value >= amount.number().Value
	return !covered
}

// metadata is the first metadata object present; it is used whole.
func (o *oracleObject) metadata() oracleMetadata {
	for _, m := range []oracleRef[oracleMetadata]{
		o.Metadata, o.Subscription.object.Metadata, o.Checkout.object.Metadata, o.Order.object.Metadata,
	} {
		if m.whole {
			return m.object
		}
	}
	return oracleMetadata{}
}

func oracleFirst(places ...oracleScalar) oracleScalar {
	for _, place := range places {
		if place.isText() {
			return place
		}
	}
	return oracleScalar{}
}

func oracleFirstNumber(places ...oracleScalar) Number {
	for _, place := range places {
		if place.kind != 0 {
			return place.number()
		}
	}
	return Number{}
}

func oracleFirstMoment(places ...oracleScalar) time.Time {
	for _, place := range places {
		if t := place.moment(); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}
