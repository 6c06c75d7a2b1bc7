package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kedacore/keda/v2/version"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// objects are all that a release consists of.
type objects struct {
	statefulSets    []*apps.StatefulSet
	deployments     []*apps.Deployment
	jobs            []*batch.Job
	cronJobs        []*batch.CronJob
	services        []*core.Service
	serviceAccounts []*core.ServiceAccount
	configMaps      []*core.ConfigMap
	claims          []*core.PersistentVolumeClaim
	ingresses       []*networking.Ingress
	policies        []*networking.NetworkPolicy
	budgets         []*policy.PodDisruptionBudget
	scalers         []*autoscaling.HorizontalPodAutoscaler
	serviceMonitors []*monitoring.ServiceMonitor
	rules           []*monitoring.PrometheusRule
	scaledObjects   []*scaledObject
}

// scaledObject has the fields of KEDA's ScaledObject that the tests look at. Its custom resource definition
// decides about all of them: the Go types of KEDA link a whole controller.
type scaledObject struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		ScaleTargetRef                   struct{ Name string }
		MinReplicaCount, MaxReplicaCount int
		Triggers                         []struct {
			Type, MetricType string
			Metadata         map[string]string
		}
	}
}

func kindOf(document string) string {
	var kind meta.TypeMeta
	_ = yaml.Unmarshal([]byte(document), &kind)
	return kind.APIVersion + " " + kind.Kind
}

// decode adds an object. It fails at a field that the object does not have, and at a kind that no test knows.
func (into *objects) decode(k *keda, document string) (object meta.Object, err error) {
	switch kindOf(document) {
	case "apps/v1 StatefulSet":
		object, err = strictly(document, &into.statefulSets)
	case "apps/v1 Deployment":
		object, err = strictly(document, &into.deployments)
	case "batch/v1 Job":
		object, err = strictly(document, &into.jobs)
	case "batch/v1 CronJob":
		object, err = strictly(document, &into.cronJobs)
	case "v1 Service":
		object, err = strictly(document, &into.services)
	case "v1 ServiceAccount":
		object, err = strictly(document, &into.serviceAccounts)
	case "v1 ConfigMap":
		object, err = strictly(document, &into.configMaps)
	case "v1 PersistentVolumeClaim":
		object, err = strictly(document, &into.claims)
	case "networking.k8s.io/v1 Ingress":
		object, err = strictly(document, &into.ingresses)
	case "networking.k8s.io/v1 NetworkPolicy":
		object, err = strictly(document, &into.policies)
	case "policy/v1 PodDisruptionBudget":
		object, err = strictly(document, &into.budgets)
	case "autoscaling/v2 HorizontalPodAutoscaler":
		object, err = strictly(document, &into.scalers)
	case "monitoring.coreos.com/v1 ServiceMonitor":
		object, err = strictly(document, &into.serviceMonitors)
	case "monitoring.coreos.com/v1 PrometheusRule":
		object, err = strictly(document, &into.rules)
	case "keda.sh/v1alpha1 ScaledObject":
		if err = k.check(document); err == nil {
			scaled := new(scaledObject)
			err = yaml.Unmarshal([]byte(document), scaled)
			into.scaledObjects, object = append(into.scaledObjects, scaled), scaled
		}
	default:
		err = fmt.Errorf("no test knows %s", kindOf(document))
	}
	return object, err
}

func strictly[T any](document string, into *[]*T) (meta.Object, error) {
	object := new(T)
	*into = append(*into, object)
	return any(object).(meta.Object), yaml.UnmarshalStrict([]byte(document), object)
}

// keda checks objects of KEDA as a server with KEDA would, and refuses unknown fields, too.
type keda struct {
	scaledObject *jsonschema.Schema
	parameters   map[string][]string // of the trigger metrics-api, with their allowed values
}

func openKEDA(t *testing.T) *keda {
	t.Helper()
	// The import keeps the module in go.mod.
	_ = version.Version
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kedacore/keda/v2").Output()
	require.NoError(t, err)
	path := strings.TrimSpace(string(dir))

	definition := readYAML[map[string]any](t, filepath.Join(path, "config/crd/bases/keda.sh_scaledobjects.yaml"))
	served := definition["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	require.Equal(t, "v1alpha1", served["name"])
	schema := served["schema"].(map[string]any)["openAPIV3Schema"]
	closeSchema(schema)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("scaledobject.json", schema))
	compiled, err := compiler.Compile("scaledobject.json")
	require.NoError(t, err)

	k := &keda{compiled, map[string][]string{}}
	text, err := os.ReadFile(filepath.Join(path, "schema/generated/scalers-schema.json"))
	require.NoError(t, err)
	var all struct {
		Scalers []struct {
			Type       string
			Parameters []struct {
				Name         string
				AllowedValue []string
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &all))
	for _, scaler := range all.Scalers {
		if scaler.Type == "metrics-api" {
			for _, parameter := range scaler.Parameters {
				k.parameters[parameter.Name] = parameter.AllowedValue
			}
		}
	}
	require.Contains(t, k.parameters, "valueLocation")
	return k
}

// closeSchema refuses fields that a schema does not name. A server would drop them.
func closeSchema(schema any) {
	switch schema := schema.(type) {
	case []any:
		for _, part := range schema {
			closeSchema(part)
		}
	case map[string]any:
		for _, part := range schema {
			closeSchema(part)
		}
		_, named := schema["properties"].(map[string]any)
		if open, _ := schema["x-kubernetes-preserve-unknown-fields"].(bool); named && !open {
			schema["additionalProperties"] = false
		}
	}
}

func (k *keda) check(document string) error {
	text, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		return err
	}
	object, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return k.scaledObject.Validate(object)
}
