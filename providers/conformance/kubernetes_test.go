package conformance

import (
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// manifest is what the file for Kubernetes holds, read as its API server reads it:
// an unknown field and one given twice are errors.
type manifest struct {
	namespace corev1.Namespace
	config    corev1.ConfigMap
	service   corev1.Service
	budget    policyv1.PodDisruptionBudget
	set       appsv1.StatefulSet
}

func readManifest(t *testing.T) manifest {
	t.Helper()
	text, err := os.ReadFile("../../deploy/kubernetes/sidestep.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	into := []struct {
		kind   string
		object any
	}{
		{"Namespace", &m.namespace}, {"ConfigMap", &m.config}, {"Service", &m.service},
		{"PodDisruptionBudget", &m.budget}, {"StatefulSet", &m.set},
	}
	documents := strings.Split(string(text), "\n---\n")
	if len(documents) != len(into) {
		t.Fatalf("the manifest has %d documents, want %d", len(documents), len(into))
	}
	for i, d := range into {
		if !strings.Contains(documents[i], "\nkind: "+d.kind+"\n") {
			t.Fatalf("document %d is no %s", i+1, d.kind)
		}
		if err := yaml.UnmarshalStrict([]byte(documents[i]), d.object); err != nil {
			t.Fatalf("%s: %v", d.kind, err)
		}
	}
	return m
}

// TestKubernetesManifestFitsTogether looks up what the parts of the manifest say of
// each other.
func TestKubernetesManifestFitsTogether(t *testing.T) {
	m := readManifest(t)
	spec, pod := m.set.Spec, m.set.Spec.Template.Spec
	for _, namespace := range []string{m.config.Namespace, m.service.Namespace, m.budget.Namespace, m.set.Namespace} {
		if namespace != m.namespace.Name {
			t.Errorf("namespace %q, want %q", namespace, m.namespace.Name)
		}
	}
	for what, labels := range map[string]map[string]string{
		"set": spec.Selector.MatchLabels, "service": m.service.Spec.Selector, "budget": m.budget.Spec.Selector.MatchLabels,
		"spread": pod.TopologySpreadConstraints[0].LabelSelector.MatchLabels,
	} {
		if name := labels["app.kubernetes.io/name"]; name != spec.Template.Labels["app.kubernetes.io/name"] || name == "" {
			t.Errorf("the %s selects %v, and the pods have %v", what, labels, spec.Template.Labels)
		}
	}
	if *spec.Replicas != 2 || spec.ServiceName != m.service.Name || m.service.Spec.ClusterIP != corev1.ClusterIPNone {
		t.Errorf("%d replicas behind the service %q; want 2 and %q, headless", *spec.Replicas, spec.ServiceName, m.service.Name)
	}
	volumes := []string{}
	for _, v := range pod.Volumes {
		volumes = append(volumes, v.Name)
		if v.ConfigMap != nil && v.ConfigMap.Name != m.config.Name {
			t.Errorf("the volume %s is of %q, want %q", v.Name, v.ConfigMap.Name, m.config.Name)
		}
	}
	for _, c := range spec.VolumeClaimTemplates {
		volumes = append(volumes, c.Name)
	}
	mounts := map[string]string{}
	for _, v := range pod.Containers[0].VolumeMounts {
		mounts[v.MountPath] = v.Name
		if !slices.Contains(volumes, v.Name) {
			t.Errorf("%s mounts %q, of %q", v.MountPath, v.Name, volumes)
		}
	}
	for _, path := range []string{"/etc/sidestep", "/run/sidestep", "/var/lib/sidestep", "/run/secrets/sidestep"} {
		if mounts[path] == "" {
			t.Errorf("nothing is mounted at %s: %v", path, mounts)
		}
	}
	if got := pod.Containers[0].Args; !slices.Equal(got, []string{"run", "--config", "/etc/sidestep/sidestep.yaml"}) || m.config.Data["sidestep.yaml"] == "" {
		t.Errorf("the container runs %q, with %d bytes of config", got, len(m.config.Data["sidestep.yaml"]))
	}
}

// TestKubernetesPodIsRestricted holds the pod to the strictest of the Pod Security
// Standards, which the namespace enforces
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/).
func TestKubernetesPodIsRestricted(t *testing.T) {
	m := readManifest(t)
	pod := m.set.Spec.Template.Spec
	whole, container := pod.SecurityContext, pod.Containers[0].SecurityContext
	if got := m.namespace.Labels["pod-security.kubernetes.io/enforce"]; got != "restricted" {
		t.Errorf("the namespace enforces %q", got)
	}
	if !*whole.RunAsNonRoot || *whole.RunAsUser != 65532 || *whole.FSGroup != 65532 || whole.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the pod may %+v", whole)
	}
	if *container.AllowPrivilegeEscalation || !*container.ReadOnlyRootFilesystem || len(container.Capabilities.Add) > 0 ||
		!slices.Equal(container.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("the container may %+v", container)
	}
	if *pod.AutomountServiceAccountToken || pod.HostNetwork || len(pod.Containers) != 1 || len(pod.InitContainers) > 0 {
		t.Error("the pod has more than it needs")
	}
}

// TestKubernetesProbes holds the probes to ask the daemon, with the patience that a
// busy machine needs.
func TestKubernetesProbes(t *testing.T) {
	pod := readManifest(t).set.Spec.Template.Spec
	c := pod.Containers[0]
	for name, probe := range map[string]*corev1.Probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
		if probe == nil || probe.Exec == nil || !slices.Equal(probe.Exec.Command, []string{"/usr/bin/sidestep", "status"}) || probe.TimeoutSeconds <= 10 {
			t.Errorf("the %s probe is %+v; want sidestep status, and longer than the 10s that it waits for the daemon", name, probe)
		}
	}
	if c.LivenessProbe.PeriodSeconds*c.LivenessProbe.FailureThreshold < 60 {
		t.Error("a daemon that is slow for less than a minute is killed")
	}
	if *pod.TerminationGracePeriodSeconds <= 30 {
		t.Error("a call in hand may take 30s")
	}
}
