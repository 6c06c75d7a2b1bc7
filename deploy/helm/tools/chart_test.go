package tools

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// everySecret names each secret that is not required in a mode.
var everySecret = everyProvider().with(values{
	"secrets.retiredSecrets.name": "rotation",
	"secrets.awsCredentials.name": "store", "secrets.githubToken.name": "github", "secrets.otlpHeaders.name": "collector", "secrets.pingURL.name": "ping",
	"secrets.consoleToken.name": "console", "secrets.consoleOIDCClientSecret.name": "console",
})

func everyProvider() values {
	all := values{}
	for _, name := range []string{"creem", "dodo", "lemonsqueezy", "paddle", "payfold", "polar", "provider", "stripe"} {
		all["providers."+name+".secret.name"], all["providers."+name+".previous.name"] = "payfold", "rotation"
		if slices.Contains([]string{"creem", "paddle", "polar", "stripe"}, name) {
			all["providers."+name+".apiKey.name"] = "payfold"
		}
	}
	return all
}

// withConsole is the least that the console needs, withDrill that of the restore drill, withReconcile that of the
// comparison with providers.
var (
	withConsole   = values{"console.enabled": true, "secrets.consoleDatabaseURL.name": "console", "secrets.consoleToken.name": "console"}
	withReconcile = values{"reconcile.keys": map[string]any{
		"creem": apiKey("creem"), "paddle": apiKey("paddle"), "polar": apiKey("polar"), "stripe": apiKey("stripe"),
	}}
	withDrill = values{"restoreDrill.enabled": true, "config.ARCHIVE_URL": "s3://bucket/shop"}
)

func apiKey(provider string) map[string]any {
	return map[string]any{"name": "payfold", "key": provider + "-api-key"}
}

// everything is each mode with all that it can have.
func everything(mode values) values {
	all := mode.with(everySecret).with(withConsole).with(values{
		"console.checksSignatures": true,
		"console.config": map[string]any{
			"CONSOLE_PUBLIC_URL": "https://console.example", "CONSOLE_HOSTS": "payfold-console.shop",
			"CONSOLE_OIDC_ISSUER": "https://login.example", "CONSOLE_OIDC_CLIENT_ID": "payfold", "CONSOLE_OIDC_ALLOWED": "@shop.example",
		},
		"restoreDrill.enabled": true, "restoreDrill.storageClass": "cheap",
		"networkPolicy.consoleFrom": []any{map[string]any{"podSelector": map[string]any{}}},
		"config": map[string]any{
			"LOG_LEVEL": "debug", "ARCHIVE_URL": "s3://bucket/shop", "ARCHIVE_S3_ENDPOINT": "https://store.example",
			"AWS_REGION": "eu-1", "OTEL_EXPORTER_OTLP_ENDPOINT": "https://collector.example",
		},
		"ingest.config": map[string]any{"STREAM_PARTITIONS": "32", "LOG_KEEP": "720h", "LOG_LEVEL": "info"},
		"projector.config": map[string]any{
			"LEASE_TIME": "20s", "PROVIDER_MODE": "live", "INVITE_REPOSITORY": "shop/pro",
		},
		"projector.catalogue":           "version: 1\nproducts:\n  pack: {kind: one_time, credits: 200}\n",
		"projector.checksSignatures":    true,
		"trustedCertificates.configMap": "authority",
		"image.digest":                  "sha256:" + strings.Repeat("0", 64), "image.pullSecrets": []any{"registry"},
		"ingress.enabled": true, "ingress.host": "pay.example", "ingress.tlsSecret": "certificate", "ingress.className": "nginx",
		"networkPolicy.deliveriesFrom":      []any{map[string]any{"namespaceSelector": map[string]any{}}},
		"networkPolicy.metricsFrom":         []any{map[string]any{"namespaceSelector": map[string]any{}}},
		"networkPolicy.egress":              []any{map[string]any{"ports": []any{map[string]any{"port": 443}}}},
		"monitoring.serviceMonitor.enabled": true, "monitoring.serviceMonitor.labels": map[string]any{"release": "prometheus"},
		"monitoring.prometheusRule.enabled": true, "monitoring.prometheusRule.labels": map[string]any{"release": "prometheus"},
		"persistence.storageClass": "fast", "service.annotations": map[string]any{"a": "b"},
		"serviceAccount.annotations": map[string]any{"role": "payfold"},
		"podAnnotations":             map[string]any{"a": "b"}, "podLabels": map[string]any{"team": "payments"},
		"nodeSelector": map[string]any{"disk": "ssd"}, "priorityClassName": "high",
		"tolerations": []any{map[string]any{"key": "payments", "operator": "Exists"}},
		"affinity":    map[string]any{"nodeAffinity": map[string]any{}},
	})
	if mode["mode"] != "cluster" {
		return all
	}
	return all.with(withReconcile).with(values{
		"createStream": true, "secrets.natsURLAdmin.name": "admin", "secrets.natsCredsAdmin.name": "admin",
		"secrets.natsCredsIngest.name": "ingest", "secrets.natsCredsProjector.name": "projector",
		"projector.autoscaling.enabled": true,
	})
}

func TestTheChartRendersWhatTheGoldenFilesHave(t *testing.T) {
	t.Parallel()
	loaded := loadChart(t)
	for name, given := range map[string]values{
		"single": single, "cluster": cluster, "single-everything": everything(single), "cluster-everything": everything(cluster),
	} {
		// The rules have a test of their own.
		texts, err := render(loaded, given.with(values{"monitoring.prometheusRule.enabled": false}))
		require.NoError(t, err, name)
		got := strings.Join(documents(texts), "---\n")
		file := "testdata/" + name + ".yaml"
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), got, file)
	}
}

// choices are values of which each release has the first or the second. What belongs to one object alone is
// chosen together.
var choices = [][2]values{
	{{}, everySecret},
	{{}, {"projector.catalogue": "version: 1\n", "projector.checksSignatures": true}},
	{{}, {
		"trustedCertificates.configMap": "authority", "podLabels": map[string]any{"a": "b"},
		"image.tag": "", "image.digest": "sha256:" + strings.Repeat("0", 64),
	}},
	{{}, {
		"ingress.enabled": true, "ingress.host": "pay.example", "service.type": "LoadBalancer",
		"monitoring.serviceMonitor.enabled": true, "monitoring.prometheusRule.enabled": true,
		"restoreDrill.enabled": true, "config.ARCHIVE_URL": "s3://bucket/shop",
	}},
	{{}, withConsole.with(values{"console.checksSignatures": true})},
	{
		{"networkPolicy.enabled": false},
		{
			"networkPolicy.metricsFrom": []any{map[string]any{"podSelector": map[string]any{}}},
			"networkPolicy.consoleFrom": []any{map[string]any{"podSelector": map[string]any{}}},
		},
	},
}

// ofClusters are those of the mode cluster alone.
var ofClusters = [][2]values{
	{{}, withReconcile},
	{{}, {"createStream": true, "secrets.natsURLAdmin.name": "admin"}},
	{{}, {"ingest.autoscaling.enabled": false}},
	{{}, {"projector.autoscaling.enabled": true}},
	{{}, {"secrets.natsCredsIngest.name": "nats", "secrets.natsCredsProjector.name": "nats"}},
}

func TestAnyFourChoicesGiveObjectsThatKubernetesKnows(t *testing.T) {
	t.Parallel()
	loaded, known := loadChart(t), openKEDA(t)
	requirePod := restrictedPods(t)
	all := combinations(single, choices)
	all = append(all, combinations(cluster, append(ofClusters, choices...))...)
	for _, given := range all {
		where := fmt.Sprint(given)
		o := requireObjects(t, loaded, known, given, where)
		o.requireWhole(t, where)
		for _, p := range o.pods() {
			requirePod(t, p, where)
		}
	}
}

func TestReleasesInOneNamespaceShareNothing(t *testing.T) {
	t.Parallel()
	loaded, known := loadChart(t), openKEDA(t)
	seen := map[string]string{}
	for _, release := range []string{"payfold", "shop", "shop-payfold-eu", "a-release-with-a-name-of-the-greatest-length-there-is"} {
		texts, err := renderAs(release, loaded, everything(cluster))
		require.NoError(t, err)
		o, names := requireDecoded(t, known, texts, release)
		for name, labels := range names {
			require.NotContains(t, seen, name, release)
			seen[name] = release
			require.Equal(t, release, labels["app.kubernetes.io/instance"])
		}
		for _, service := range o.services {
			require.Equal(t, release, service.Spec.Selector["app.kubernetes.io/instance"])
		}
	}
}

// combinations returns what is needed with every combination of any four choices: at most two of them differ
// from all first ones, or from all second ones.
func combinations(needed values, choices [][2]values) (all []values) {
	for most := range 2 {
		pick := func(others ...int) values {
			given := needed
			for i, choice := range choices {
				if slices.Contains(others, i) {
					given = given.with(choice[1-most])
				} else {
					given = given.with(choice[most])
				}
			}
			return given
		}
		all = append(all, pick())
		for i := range choices {
			all = append(all, pick(i))
			for j := range i {
				all = append(all, pick(i, j))
			}
		}
	}
	return all
}
