package tools

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValuesThatCannotWorkAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	loaded := loadChart(t)
	scaled := cluster.with(values{"projector.autoscaling.enabled": true})
	for reason, given := range map[string]values{
		"image.repository is missing: name the image":                                              single.with(values{"image.repository": ""}),
		"image.tag is missing: name a tag, or an image.digest":                                     single.with(values{"image.tag": ""}),
		"no provider has a secret: name the Secret of yours":                                       single.with(values{"providers.stripe.secret.name": ""}),
		"providers.polar.previous is named and providers.polar.secret is not":                      single.with(values{"providers.polar.previous.name": "rotation"}),
		"at '/providers': additional properties 'other' not allowed":                               single.with(values{"providers.other.secret.name": "payfold"}),
		"under the key database-url":                                                               single.with(values{"secrets.databaseURL.name": ""}),
		"secrets.natsURLIngest.name is missing":                                                    cluster.with(values{"secrets.natsURLIngest.name": ""}),
		"secrets.natsURLProjector.name is missing":                                                 cluster.with(values{"secrets.natsURLProjector.name": ""}),
		"secrets.natsURLAdmin.name is missing":                                                     cluster.with(values{"createStream": true}),
		"secrets.natsURLIngest is for the mode cluster: in the mode single the log is embedded":    single.with(values{"secrets.natsURLIngest.name": "nats"}),
		"createStream is for the mode cluster":                                                     single.with(values{"createStream": true, "secrets.natsURLAdmin.name": "nats"}),
		"projector.autoscaling is for the mode cluster":                                            single.with(values{"projector.autoscaling.enabled": true}),
		"secrets.githubToken and secrets.githubAppKey exclude each other":                          single.with(values{"secrets.githubToken.name": "a", "secrets.githubAppKey.name": "b"}),
		"config.ARCHIVE_URL is /archive: name s3://bucket/prefix or none":                          single.with(values{"config.ARCHIVE_URL": "/archive"}),
		"ingest.autoscaling.minReplicas is 7, more than maxReplicas 6":                             cluster.with(values{"ingest.autoscaling.minReplicas": 7}),
		"projector.autoscaling.minReplicas is 5, more than maxReplicas 4":                          scaled.with(values{"projector.autoscaling.minReplicas": 5}),
		"projector: 65 replicas are more than the 64 partitions of the stream":                     scaled.with(values{"projector.autoscaling.maxReplicas": 65}),
		"projector: 3 replicas are more than the 2 partitions of the stream":                       cluster.with(values{"projector.replicas": 3, "ingest.config.STREAM_PARTITIONS": "2"}),
		"projector.autoscaling.scaleUpAfterSeconds is 60, must be longer than LEASE_TIME (60 s)":   scaled.with(values{"projector.config.LEASE_TIME": "60s"}),
		"projector.autoscaling.scaleDownAfterSeconds is 10, must be longer than LEASE_TIME (10 s)": scaled.with(values{"projector.autoscaling.scaleDownAfterSeconds": 10}),
		"ingress.host is missing":                                                                  single.with(values{"ingress.enabled": true}),
		"monitoring.prometheusRule.without: there is no alert or timer Payfold":                    single.with(values{"monitoring.prometheusRule.without": []any{"Payfold"}}),
		"additional properties 'replicas' not allowed":                                             single.with(values{"replicas": 2}),
		"additional properties 'value' not allowed":                                                single.with(values{"providers.stripe.secret.value": "whsec_1"}),
		"at '/config': additional properties 'DATABASE_URL' not allowed":                           single.with(values{"config.DATABASE_URL": "postgres://a:b@c/d"}),
		"at '/ingest/config': additional properties 'PROVIDER_WEBHOOK_SECRET' not allowed":         single.with(values{"ingest.config.PROVIDER_WEBHOOK_SECRET": "whsec_1"}),
		"at '/projector/config': additional properties 'INVITE_GITHUB_TOKEN' not allowed":          single.with(values{"projector.config.INVITE_GITHUB_TOKEN": "ghp_1"}),
		"at '/ingest/config/MAX_IN_FLIGHT': got number, want string":                               single.with(values{"ingest.config.MAX_IN_FLIGHT": 512}),
		"at '/projector/config/LEASE_TIME': '1m' does not match pattern":                           single.with(values{"projector.config.LEASE_TIME": "1m"}),
		"at '/mode': value must be one of 'single', 'cluster'":                                     single.with(values{"mode": "both"}),
		"at '/persistence/accessMode': value must be one of 'ReadWriteOnce', 'ReadWriteOncePod'":   single.with(values{"persistence.accessMode": "ReadWriteMany"}),
		"at '/monitoring/prometheusRule/settings': additional properties 'enough' not allowed":     single.with(values{"monitoring.prometheusRule.settings.enough": 1}),
		"at '/projector/autoscaling/minReplicas': minimum: got 0, want 1":                          scaled.with(values{"projector.autoscaling.minReplicas": 0}),
		"secrets.consoleDatabaseURL.name is missing: name the Secret that has it":                  single.with(withConsole).with(values{"secrets.consoleDatabaseURL.name": ""}),
		"console: nobody can log in: name secrets.consoleToken":                                    single.with(withConsole).with(values{"secrets.consoleToken.name": ""}),
		"console: nobody can log in: name secrets.consoleToken, or set CONSOLE_PROXY_HEADER":       single.with(withConsole).with(values{"secrets.consoleToken.name": "", "console.config.CONSOLE_PROXY_HEADER": "X-Forwarded-User"}),
		"CONSOLE_TRUSTED_PROXIES trusts every address":                                             single.with(withConsole).with(values{"console.config.CONSOLE_TRUSTED_PROXIES": "10.0.0.7, 0.0.0.0/0"}),
		"secrets.consoleDatabaseURL is that of projectors":                                         single.with(withConsole).with(values{"secrets.consoleDatabaseURL.name": "payfold", "secrets.consoleDatabaseURL.key": "database-url"}),
		"reconcile needs the mode cluster":                                                         single.with(withReconcile),
		"restoreDrill needs an archive in an object store: config.ARCHIVE_URL":                     single.with(values{"restoreDrill.enabled": true}),
		"at '/console/config': additional properties 'CONSOLE_TOKEN' not allowed":                  single.with(withConsole).with(values{"console.config.CONSOLE_TOKEN": "secret"}),
	} {
		_, err := render(loaded, given)
		require.ErrorContains(t, err, reason)
	}
}

func TestAllFaultsOfTheValuesAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := render(loadChart(t), values{})
	for _, reason := range []string{"image.repository is missing", "image.tag is missing", "no provider has a secret", "secrets.databaseURL.name is missing"} {
		require.ErrorContains(t, err, reason)
	}
}

func TestANameThatNoServiceCanHaveIsRefused(t *testing.T) {
	t.Parallel()
	for _, release := range []string{"shop.eu", "1shop"} {
		_, err := renderAs(release, loadChart(t), single)
		require.ErrorContains(t, err, "the name of the release is "+release)
	}
}

// notOffered are variables of the documents that no value of the chart sets, with the reason.
var notOffered = map[string]string{
	"NATS_URL": "the chart mounts NATS_URL_FILE", "DATABASE_URL": "the chart mounts DATABASE_URL_FILE",
	"INVITE_GITHUB_TOKEN":        "the chart mounts INVITE_GITHUB_TOKEN_FILE",
	"PING_URL":                   "the chart mounts PING_URL_FILE",
	"CONSOLE_TOKEN":              "the chart mounts CONSOLE_TOKEN_FILE",
	"CONSOLE_OIDC_CLIENT_SECRET": "the chart mounts CONSOLE_OIDC_CLIENT_SECRET_FILE",
	"CREEM_API_KEY":              "the chart mounts CREEM_API_KEY_FILE",
	"PADDLE_API_KEY":             "the chart mounts PADDLE_API_KEY_FILE",
	"POLAR_API_KEY":              "the chart mounts POLAR_API_KEY_FILE",
	"STRIPE_API_KEY":             "the chart mounts STRIPE_API_KEY_FILE",
	"PORT":                       "the chart sets LISTEN_ADDR",
	"TMPDIR":                     "/tmp is a volume of its own",
	"EMBEDDED_NATS_ADDR":         "projectors are in the pod of the embedded log",
	"CHECKPOINT_VERIFIER_KEY":    "of commands alone", "CHECKPOINT_VERIFIER_KEY_FILE": "of commands alone",
	"CHECKPOINT_KEY_FILE":                   "of a command alone; the key belongs elsewhere",
	"OTEL_EXPORTER_OTLP_CERTIFICATE":        "trustedCertificates has it",
	"OTEL_EXPORTER_OTLP_CLIENT_KEY":         "no value mounts a file for it",
	"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": "no value mounts a file for it",
}

// ofOthers are variables of other programs' libraries: docs/archive.md names those of S3, and SSL_CERT_DIR is Go's.
var ofOthers = []string{"AWS_REGION", "AWS_SHARED_CREDENTIALS_FILE", "SSL_CERT_DIR"}

func TestEveryDocumentedVariableHasItsPlaceInTheChart(t *testing.T) {
	t.Parallel()
	documented := documentedVariables(t)
	placed := map[string]bool{}
	for _, name := range slices.Concat(setByTheChart(t), configurable(t)) {
		placed[name] = true
		require.Contains(t, append(ofOthers, slices.Collect(maps.Keys(documented))...), name, "the chart sets a variable that no program reads")
	}
	for name := range notOffered {
		require.False(t, placed[name], "%s is offered", name)
		require.Contains(t, documented, name, "no program reads it")
	}
	for name := range documented {
		require.True(t, placed[name] || notOffered[name] != "",
			"%s of docs/configuration.md: add it to values.schema.json, or say here why no value sets it", name)
	}
}

var variable = regexp.MustCompile("`([A-Z][A-Z0-9_]{2,})`")

// documentedVariables returns those of the programs and of traces. Other sections are of other things.
func documentedVariables(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(root + "/docs/configuration.md")
	require.NoError(t, err)
	names := map[string]bool{}
	for _, section := range strings.Split(string(text), "\n## ") {
		title, body, _ := strings.Cut(section, "\n")
		switch title {
		case "Signing secrets": // the chart mounts files
			require.Contains(t, body, "`…_PREVIOUS`, `…_FILE`, `…_PREVIOUS_FILE`")
			for _, name := range variable.FindAllStringSubmatch(body, -1) {
				if strings.HasSuffix(name[1], "_SECRET") {
					names[name[1]+"_FILE"], names[name[1]+"_PREVIOUS_FILE"] = true, true
				}
			}
		case "Both programs", "ingest", "projector", "The console", "Traces":
			for _, line := range strings.Split(body, "\n") {
				cells := strings.Split(line, "|")
				if len(cells) < 4 {
					continue
				}
				for _, name := range variable.FindAllStringSubmatch(cells[1], -1) {
					names[name[1]] = true
				}
			}
		case "The Go runtime":
			for _, name := range variable.FindAllStringSubmatch(body, -1) {
				names[name[1]] = true
			}
		}
	}
	for _, name := range []string{
		"INVITE_GITHUB_TOKEN_FILE", "CONSOLE_TOKEN_FILE", "CONSOLE_OIDC_CLIENT_SECRET_FILE",
	} {
		require.Contains(t, string(text), name)
		names[name] = true
	}
	require.Greater(t, len(names), 50)
	return names
}

// setByTheChart returns the variables of all containers where nothing is configured.
func setByTheChart(t *testing.T) (names []string) {
	t.Helper()
	for _, mode := range []values{single, cluster} {
		given := everything(mode).with(values{"config": map[string]any{}, "ingest.config": map[string]any{}, "projector.config": map[string]any{}}).
			with(values{"console.config": map[string]any{}, "restoreDrill.enabled": false})
		for _, key := range []values{{}, {"secrets.githubToken.name": "", "secrets.githubAppKey.name": "github"}} {
			o := requireObjects(t, loadChart(t), openKEDA(t), given.with(key), "")
			for _, pod := range o.pods() {
				for _, container := range pod.Spec.Containers {
					for _, variable := range container.Env {
						names = append(names, variable.Name)
					}
				}
			}
		}
	}
	return names
}

// configurable returns the variables that the values may set.
func configurable(t *testing.T) []string {
	t.Helper()
	type config struct{ Properties map[string]any }
	var schema struct {
		Properties struct {
			Config                                config
			Ingest, Projector, Console, Reconcile struct{ Properties struct{ Config config } }
		}
	}
	text, err := os.ReadFile(chartPath + "/values.schema.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &schema))
	of := schema.Properties
	var names []string
	for _, one := range []config{of.Config, of.Ingest.Properties.Config, of.Projector.Properties.Config, of.Console.Properties.Config, of.Reconcile.Properties.Config} {
		names = slices.AppendSeq(names, maps.Keys(one.Properties))
	}
	require.Greater(t, len(names), 30)
	return names
}
