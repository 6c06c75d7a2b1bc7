package tools

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	security "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// requireObjects renders the chart and decodes every object.
func requireObjects(t *testing.T, loaded *chart.Chart, known *keda, given values, where string) objects {
	t.Helper()
	texts, err := render(loaded, given)
	require.NoError(t, err, where)
	all, names := requireDecoded(t, known, texts, where)
	for _, labels := range names {
		require.Equal(t, "payfold", labels["app.kubernetes.io/instance"], where)
	}
	return all
}

// requireDecoded also returns the labels of each object, by its kind and name.
func requireDecoded(t *testing.T, known *keda, texts map[string]string, where string) (objects, map[string]map[string]string) {
	t.Helper()
	var all objects
	names := map[string]map[string]string{}
	for _, document := range documents(texts) {
		object, err := all.decode(known, document)
		require.NoError(t, err, "%s\n%s", where, document)
		require.LessOrEqual(t, len(object.GetName()), longestName(object), where)
		name := kindOf(document) + " " + object.GetName()
		require.NotContains(t, names, name, where)
		names[name] = object.GetLabels()
	}
	return all, names
}

// longestName is what a server allows. The jobs of a CronJob are named after it and the time.
func longestName(object meta.Object) int {
	if _, cron := object.(*batch.CronJob); cron {
		return 52
	}
	return 63
}

// pods returns the templates of all pods. Volumes of a stateful set are among the pod's own here.
func (o *objects) pods() []core.PodTemplateSpec {
	var all []core.PodTemplateSpec
	for _, set := range o.statefulSets {
		template := *set.Spec.Template.DeepCopy()
		for _, claim := range set.Spec.VolumeClaimTemplates {
			template.Spec.Volumes = append(template.Spec.Volumes, core.Volume{
				Name: claim.Name, VolumeSource: core.VolumeSource{PersistentVolumeClaim: &core.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}},
			})
		}
		all = append(all, template)
	}
	for _, deployment := range o.deployments {
		all = append(all, deployment.Spec.Template)
	}
	for _, job := range o.jobs {
		all = append(all, job.Spec.Template)
	}
	for _, cron := range o.cronJobs {
		all = append(all, cron.Spec.JobTemplate.Spec.Template)
	}
	return all
}

// restrictedPods returns a check of one pod: what Kubernetes calls restricted, and the rules of this chart.
func restrictedPods(t *testing.T) func(t *testing.T, pod core.PodTemplateSpec, where string) {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	require.NoError(t, err)
	restricted := security.LevelVersion{Level: security.LevelRestricted, Version: security.LatestVersion()}
	return func(t *testing.T, pod core.PodTemplateSpec, where string) {
		t.Helper()
		verdict := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec))
		require.True(t, verdict.Allowed, "%s: %s", where, verdict.ForbiddenDetail())
		requirePod(t, pod, where)
	}
}

func requirePod(t *testing.T, pod core.PodTemplateSpec, where string) {
	t.Helper()
	spec := pod.Spec
	require.Equal(t, new(false), spec.AutomountServiceAccountToken, where)
	require.Equal(t, new(false), spec.EnableServiceLinks, where)
	require.Equal(t, new(int64(65532)), spec.SecurityContext.RunAsUser, where)
	require.Equal(t, new(core.FSGroupChangeOnRootMismatch), spec.SecurityContext.FSGroupChangePolicy, where)
	volumes := map[string]int{}
	for _, volume := range spec.Volumes {
		require.NotContains(t, volumes, volume.Name, where)
		volumes[volume.Name] = 0
	}
	for _, container := range spec.Containers {
		require.True(t, *container.SecurityContext.ReadOnlyRootFilesystem, where)
		require.NotZero(t, container.Resources.Requests.Cpu(), where)
		require.NotZero(t, container.Resources.Limits.Memory(), where)
		for _, mount := range container.VolumeMounts {
			require.Contains(t, volumes, mount.Name, where)
			volumes[mount.Name]++
		}
		requireVariables(t, container, where)
		if spec.RestartPolicy != core.RestartPolicyNever {
			requireProbes(t, container, where)
		}
	}
	for name, mounts := range volumes {
		require.NotZero(t, mounts, "%s: nobody uses the volume %s", where, name)
	}
	if spec.RestartPolicy != core.RestartPolicyNever {
		// drainTimeout of ingest is 10 s. What is in flight, the pause before it, and closing the log fit well.
		require.GreaterOrEqual(t, *spec.TerminationGracePeriodSeconds, int64(30), where)
	}
}

// requireVariables: a secret comes from a Secret, and no variable is there twice.
func requireVariables(t *testing.T, container core.Container, where string) {
	t.Helper()
	names := map[string]bool{}
	for _, variable := range container.Env {
		require.False(t, names[variable.Name], "%s: %s has %s twice", where, container.Name, variable.Name)
		names[variable.Name] = true
		if variable.Name == "OTEL_EXPORTER_OTLP_HEADERS" {
			require.NotNil(t, variable.ValueFrom.SecretKeyRef, where)
		} else {
			require.Nil(t, variable.ValueFrom, where)
		}
		require.NotRegexp(t, "(_SECRET|_SECRET_PREVIOUS|_TOKEN|DATABASE_URL|NATS_URL)$", variable.Name, where)
	}
}

// requireProbes: a program is restarted when it does not run, and never because it cannot work.
func requireProbes(t *testing.T, container core.Container, where string) {
	t.Helper()
	var ports []string
	for _, port := range container.Ports {
		ports = append(ports, port.Name)
	}
	for path, probes := range map[string][]*core.Probe{
		"/livez": {container.StartupProbe, container.LivenessProbe}, "/readyz": {container.ReadinessProbe},
	} {
		for _, probe := range probes {
			require.Equal(t, path, probe.HTTPGet.Path, where)
			require.Contains(t, ports, probe.HTTPGet.Port.StrVal, where)
		}
	}
}

// requireWhole: what names another object of the release finds it.
func (o *objects) requireWhole(t *testing.T, where string) {
	t.Helper()
	for _, service := range o.services {
		pod := o.podOf(t, service.Spec.Selector, where)
		for _, port := range service.Spec.Ports {
			require.Contains(t, portsOf(pod), port.TargetPort.StrVal, "%s: service %s", where, service.Name)
		}
	}
	for _, budget := range o.budgets {
		o.podOf(t, budget.Spec.Selector.MatchLabels, where)
	}
	for _, deployment := range o.deployments {
		require.Equal(t, deployment.Spec.Template.Labels, o.podOf(t, deployment.Spec.Selector.MatchLabels, where).Labels, where)
		for _, spread := range deployment.Spec.Template.Spec.TopologySpreadConstraints {
			require.Equal(t, deployment.Spec.Selector, spread.LabelSelector, where)
		}
	}
	for _, set := range o.statefulSets {
		require.Equal(t, new(int32(1)), set.Spec.Replicas, where)
		require.True(t, slices.ContainsFunc(o.services, func(s *core.Service) bool {
			return s.Name == set.Spec.ServiceName && s.Spec.ClusterIP == core.ClusterIPNone
		}), where)
	}
	for _, monitor := range o.serviceMonitors {
		selector := labels.SelectorFromSet(monitor.Spec.Selector.MatchLabels)
		found := slices.DeleteFunc(slices.Clone(o.services), func(s *core.Service) bool { return !selector.Matches(labels.Set(s.Labels)) })
		require.Len(t, found, 1, where)
		require.Equal(t, found[0].Spec.Ports[0].Name, monitor.Spec.Endpoints[0].Port, where)
	}
	for _, rules := range o.policies {
		for _, pod := range o.pods() {
			require.True(t, labels.SelectorFromSet(rules.Spec.PodSelector.MatchLabels).Matches(labels.Set(pod.Labels)), where)
		}
		for _, rule := range rules.Spec.Ingress {
			for _, port := range rule.Ports {
				require.Contains(t, o.ports(), port.Port.StrVal, where)
			}
		}
	}
	for _, ingress := range o.ingresses {
		backend := ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service
		require.True(t, slices.ContainsFunc(o.services, func(s *core.Service) bool {
			return s.Name == backend.Name && s.Spec.Ports[0].Name == backend.Port.Name
		}), where)
	}
	o.requireScaling(t, where)
	o.requireConfigMaps(t, where)
	o.requireAccounts(t, where)
}

// requireScaling: nothing sets the number of pods that something else decides.
func (o *objects) requireScaling(t *testing.T, where string) {
	t.Helper()
	scaled := map[string]bool{}
	for _, scaler := range o.scalers {
		scaled[scaler.Spec.ScaleTargetRef.Name] = true
	}
	for _, scaler := range o.scaledObjects {
		scaled[scaler.Spec.ScaleTargetRef.Name] = true
		require.Positive(t, scaler.Spec.MinReplicaCount, where)
	}
	for _, deployment := range o.deployments {
		require.Equal(t, scaled[deployment.Name], deployment.Spec.Replicas == nil, "%s: %s", where, deployment.Name)
		delete(scaled, deployment.Name)
	}
	require.Empty(t, scaled, where)
}

func (o *objects) requireConfigMaps(t *testing.T, where string) {
	t.Helper()
	given := map[string]bool{"authority": true}
	for _, made := range o.configMaps {
		given[made.Name] = true
	}
	for _, pod := range o.pods() {
		for _, volume := range pod.Spec.Volumes {
			if volume.ConfigMap != nil {
				require.Contains(t, given, volume.ConfigMap.Name, where)
			}
		}
	}
}

// requireAccounts: each pod has an account, so that the role of a cloud can be given to it. That of a hook is made
// before the hook.
func (o *objects) requireAccounts(t *testing.T, where string) {
	t.Helper()
	hooks := map[string]string{}
	for _, account := range o.serviceAccounts {
		hooks[account.Name] = account.Annotations["helm.sh/hook"]
	}
	for _, pod := range o.pods() {
		require.Contains(t, hooks, pod.Spec.ServiceAccountName, where)
	}
	for _, job := range o.jobs {
		require.Equal(t, job.Annotations["helm.sh/hook"], hooks[job.Spec.Template.Spec.ServiceAccountName], where)
	}
}

// podOf returns the only template that a selector finds.
func (o *objects) podOf(t *testing.T, selector map[string]string, where string) core.PodTemplateSpec {
	t.Helper()
	var found []core.PodTemplateSpec
	for _, pod := range o.pods() {
		if labels.SelectorFromSet(selector).Matches(labels.Set(pod.Labels)) {
			found = append(found, pod)
		}
	}
	require.Len(t, found, 1, "%s: %v", where, selector)
	return found[0]
}

func portsOf(pod core.PodTemplateSpec) map[string]int32 {
	ports := map[string]int32{}
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			ports[port.Name] = port.ContainerPort
		}
	}
	return ports
}

// ports returns the ports of all pods by name.
func (o *objects) ports() map[string]int32 {
	all := map[string]int32{}
	for _, pod := range o.pods() {
		maps.Copy(all, portsOf(pod))
	}
	return all
}
