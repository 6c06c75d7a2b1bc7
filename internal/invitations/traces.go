package invitations

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/payfold/payfold/internal/telemetry/traces"
)

// deliveryTimeout bounds the search for the delivery of a purchase. It is short: the attempt is
// reserved already.
const deliveryTimeout = time.Second

// startAttempt starts the span of an attempt and returns a context with it. There is no span
// without traces, or if the delivery of the purchase is not recorded or no longer known.
func (r *Reconciler) startAttempt(ctx context.Context, attempt *Attempt) (context.Context, trace.Span) {
	none := trace.SpanFromContext(ctx)
	if r.Tracer == nil {
		return ctx, none
	}
	delivery, err := r.deliveryOf(ctx, attempt)
	if err != nil {
		r.Logger.DebugContext(ctx, "the trace of a purchase is not continued", "provider_payment_id", attempt.PaymentID, "error", err)
	}
	if delivery == nil {
		return ctx, none
	}
	return r.Tracer.Start(trace.ContextWithRemoteSpanContext(ctx, *delivery), attempt.Purpose,
		trace.WithAttributes(attribute.String("payfold.provider_payment_id", attempt.PaymentID), attribute.String("payfold.repository", attempt.Repository)))
}

// deliveryOf returns the span of the delivery that brought the purchase; nil if the span is not
// recorded. The log has the trace context, so no table needs a column for it.
func (r *Reconciler) deliveryOf(ctx context.Context, attempt *Attempt) (*trace.SpanContext, error) {
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	var seq uint64 // of the event that claimed the payment
	err := r.Store.Pool().QueryRow(ctx, "select stream_seq from portal.payment_facts where provider_payment_id = $1", attempt.PaymentID).Scan(&seq)
	if err != nil {
		return nil, fmt.Errorf("find the event of a purchase: %w", err)
	}
	parent, err := r.DeliveryOf(ctx, seq)
	return traces.Recorded(parent), err
}

// endAttempt writes no message of GitHub into the span, because the message may contain a name.
func endAttempt(span trace.Span, done result) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.String("payfold.outcome", done.answer.Outcome), attribute.String("payfold.invitation_status", done.answer.Next.Status))
	span.End()
}

// startCall starts the span of a call of GitHub, within the span of its attempt. There is none if the attempt has none.
func startCall(ctx context.Context, name string) (context.Context, func(error)) {
	attempt := trace.SpanFromContext(ctx)
	if !attempt.IsRecording() {
		return ctx, func(error) {}
	}
	ctx, span := attempt.TracerProvider().Tracer(traces.Scope).Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, asProblem(err).kind.String())
		}
		span.End()
	}
}
