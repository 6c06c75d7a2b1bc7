// Package collector is an OpenTelemetry collector for tests. It takes spans over OTLP/HTTP.
package collector

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otlp "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// Collector keeps the spans that it is sent.
type Collector struct {
	URL string

	mu       sync.Mutex
	status   int
	exported []byte
	spans    []Span
	refused  []Span
}

// Span is one span; ids are in hexadecimal.
type Span struct {
	Name, Service             string
	TraceID, SpanID, ParentID string
	Kind                      tracepb.Span_SpanKind
	Attributes                map[string]string
	Links                     []string // ids of spans
	Failed                    bool
}

// New starts a collector that takes everything.
func New(t testing.TB) *Collector {
	c := &Collector{status: http.StatusOK}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := read(r)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %s %s is not an export of spans: %v", r.Method, r.URL, r.Header, err)
		}
		w.WriteHeader(c.take(t, body))
	}))
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

func read(r *http.Request) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return io.ReadAll(r.Body)
	}
	unpacked, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(unpacked)
}

func (c *Collector) take(t testing.TB, body []byte) (status int) {
	var request otlp.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &request); err != nil {
		t.Errorf("decode an export of spans: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	into := &c.spans
	if c.status != http.StatusOK {
		into = &c.refused
	}
	c.exported = append(c.exported, body...)
	for _, resource := range request.ResourceSpans {
		service := attributes(resource.Resource.Attributes)["service.name"]
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				*into = append(*into, spanOf(s, service))
			}
		}
	}
	return c.status
}

func spanOf(s *tracepb.Span, service string) Span {
	out := Span{
		Name: s.Name, Service: service, Kind: s.Kind, Attributes: attributes(s.Attributes),
		TraceID: hex.EncodeToString(s.TraceId), SpanID: hex.EncodeToString(s.SpanId), ParentID: hex.EncodeToString(s.ParentSpanId),
		Failed: s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR,
	}
	for _, link := range s.Links {
		out.Links = append(out.Links, hex.EncodeToString(link.SpanId))
	}
	return out
}

func attributes(list []*commonpb.KeyValue) map[string]string {
	out := map[string]string{}
	for _, one := range list {
		switch value := one.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			out[one.Key] = value.StringValue
		case *commonpb.AnyValue_IntValue:
			out[one.Key] = fmt.Sprint(value.IntValue)
		case *commonpb.AnyValue_BoolValue:
			out[one.Key] = fmt.Sprint(value.BoolValue)
		}
	}
	return out
}

// Attributes returns the attributes of a span that was not sent.
func Attributes(span sdk.ReadOnlySpan) map[string]string {
	out := map[string]string{}
	for _, one := range span.Attributes() {
		out[string(one.Key)] = one.Value.String()
	}
	return out
}

// Env returns the variables of a program that sends its spans here, at once.
func (c *Collector) Env() []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_BSP_SCHEDULE_DELAY=10"}
}

// Answer makes the collector answer with status. Unless that is 200, it refuses the spans.
func (c *Collector) Answer(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = status
}

// Named waits until there are count spans of a name, and returns them.
func (c *Collector) Named(t testing.TB, name string, count int) []Span {
	t.Helper()
	return c.await(t, &c.spans, name, count)
}

// Refused is Named for spans that were refused.
func (c *Collector) Refused(t testing.TB, name string, count int) []Span {
	t.Helper()
	return c.await(t, &c.refused, name, count)
}

func (c *Collector) await(t testing.TB, of *[]Span, name string, count int) (found []Span) {
	t.Helper()
	wait.Until(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		found = slices.DeleteFunc(slices.Clone(*of), func(s Span) bool { return s.Name != name })
		return len(found) >= count
	}, "%d spans %s", count, name)
	require.Len(t, found, count)
	return found
}

// Mentions reports whether the spans that were sent have a text anywhere.
func (c *Collector) Mentions(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Contains(c.exported, []byte(text))
}
