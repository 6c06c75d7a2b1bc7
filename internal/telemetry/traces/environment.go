package traces

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// The variables that this package reads. The SDK and the exporter read them, too, and also the
// other variables of the specification.
const (
	endpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	protocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	tracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	exporterName   = "OTEL_TRACES_EXPORTER"
	disabled       = "OTEL_SDK_DISABLED"
	sampler        = "OTEL_TRACES_SAMPLER"
	samplerArg     = "OTEL_TRACES_SAMPLER_ARG"
)

// isOn reports whether the environment asks for traces.
func isOn() bool {
	return (value(endpoint) != "" || value(tracesEndpoint) != "") && !strings.EqualFold(value(disabled), "true") && value(exporterName) != "none"
}

func value(name string) string { return strings.TrimSpace(os.Getenv(name)) }

var samplers = []string{"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"}

// Credentials are the variables that may have a credential of the collector.
var Credentials = []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"}

// Check returns all faults of the variables, joined; nil if they ask for no traces.
func Check() error {
	if !isOn() {
		return nil
	}
	var faults []error
	addf := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	for _, name := range []string{endpoint, tracesEndpoint} {
		if text := value(name); text != "" && !isHTTP(text) {
			addf("%s is not an http(s) address without credentials", name)
		}
	}
	for _, name := range []string{protocol, tracesProtocol} {
		if text := value(name); text != "" && text != "http/protobuf" {
			addf("%s is %q, must be http/protobuf", name, text)
		}
	}
	if text := value(exporterName); text != "" && text != "otlp" {
		addf("%s is %q, must be otlp or none", exporterName, text)
	}
	if text := value(sampler); text != "" && !slices.Contains(samplers, strings.ToLower(text)) {
		addf("%s is %q, must be one of %s", sampler, text, strings.Join(samplers, ", "))
	}
	if text := value(samplerArg); text != "" && strings.HasSuffix(strings.ToLower(value(sampler)), "traceidratio") {
		if ratio, err := strconv.ParseFloat(text, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
			addf("%s is %q, must be 0 to 1", samplerArg, text)
		}
	}
	return errors.Join(faults...)
}

func isHTTP(text string) bool {
	address, err := url.Parse(text)
	return err == nil && address.Host != "" && address.User == nil && (address.Scheme == "http" || address.Scheme == "https")
}
