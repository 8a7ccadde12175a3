package plans

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// fleet is a repository of its own, made of the stacks and releases of this one.
type fleet struct {
	folder, program string
}

func newFleet(o Options) (*fleet, error) {
	program, err := filepath.Abs(o.Program)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "plans-")
	if err != nil {
		return nil, err
	}
	f := &fleet{folder, program}
	if err := f.fill(o); err != nil {
		os.RemoveAll(folder)
		return nil, err
	}
	return f, nil
}

func (f *fleet) fill(o Options) error {
	if err := os.CopyFS(filepath.Join(f.folder, "stacks"), os.DirFS(filepath.Join(o.Root, "stacks"))); err != nil {
		return err
	}
	if err := f.write("stackloom.yaml", fleetFile); err != nil {
		return err
	}
	numbered, err := filepath.Glob(filepath.Join(o.Root, "generated/releases/*-v5"))
	if err != nil || len(numbered) == 0 {
		return fmt.Errorf("no numbered releases: %w", err)
	}
	for _, release := range numbered {
		if err := os.CopyFS(filepath.Join(f.folder, "generated/releases", filepath.Base(release)), os.DirFS(release)); err != nil {
			return err
		}
	}
	draw := rand.New(rand.NewPCG(o.Seed, 0))
	for number := range o.Count {
		name := fmt.Sprintf("c-%02d", number)
		if err := f.write("clusters/"+name+".yaml", definition(draw, name)); err != nil {
			return err
		}
	}
	commands := [][]string{
		{"git", "init", "--quiet", "--initial-branch", "main"},
		{"git", "add", "--all"},
		{"git", "commit", "--quiet", "--message", "the fleet"},
		// A newer release of each minor, in which an addon differs.
		{"sed", "-i.bak", "s/replicas: 1/replicas: 2/", "stacks/docker/scs/addons/cilium/values.yaml"},
		{"rm", "stacks/docker/scs/addons/cilium/values.yaml.bak"},
		{"git", "commit", "--quiet", "--all", "--message", "two operators"},
		{f.program, "release", "docker/scs", "--no-tag"},
		{f.program, "generate", "--commit", "--all"},
	}
	for _, command := range commands {
		if _, err := f.run(command[0], command[1:]...); err != nil {
			return err
		}
	}
	return nil
}

func (f *fleet) write(name string, content any) error {
	text, err := yaml.Marshal(content)
	if err != nil {
		return err
	}
	path := filepath.Join(f.folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// run gives what a program prints.
func (f *fleet) run(program string, arguments ...string) (string, error) {
	command := exec.Command(program, arguments...)
	command.Dir = f.folder
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.org", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.org",
		"STACKLOOM_TODAY=2026-11-23")
	var out, told bytes.Buffer
	command.Stdout, command.Stderr = &out, &told
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", program, strings.Join(arguments, " "), err, out.String(), told.String())
	}
	return out.String(), nil
}

type object = map[string]any

var fleetFile = object{
	"apiVersion": "stackloom.dev/v1alpha1", "kind": "Fleet", "metadata": object{"name": "plans"},
	"spec": object{
		"stackloom": ">=0.1, <0.2", "engine": "flux", "clusterApi": "1.14",
		"source":             object{"url": "https://git.example.org/platform/fleet.git", "branch": "main"},
		"managementClusters": []object{{"name": "mgmt", "classNamespace": "cluster-classes"}},
	},
}

// definition makes up a cluster that has something to upgrade.
func definition(draw *rand.Rand, name string) object {
	stack := pick(draw, "docker", "openstack")
	minor := pick(draw, "1.34", "1.35")
	spec := object{
		"managementCluster": "mgmt",
		"network":           object{"pods": []string{"192.168.0.0/16"}, "services": []string{"10.96.0.0/12"}, "serviceDomain": "cluster.local"},
		"controlPlane":      object{"replicas": pick(draw, 1, 3, 5)},
		"nodePools":         pools(draw),
		"variables":         object{},
	}
	addons := object{}
	if stack == "openstack" {
		spec["variables"] = openstack(draw)
	} else if draw.IntN(3) == 0 {
		spec["variables"] = object{"podSecurityStandard": object{"enforce": "restricted"}}
	}
	if draw.IntN(4) == 0 {
		spec["stack"], spec["kubernetes"], spec["release"] = stack+"/scs", minor, "head"
	} else {
		spec["release"] = fmt.Sprintf("%s-scs-%s-v5", stack, strings.ReplaceAll(minor, ".", "-"))
	}
	// A version that does not fit the newest Kubernetes minor, and one that fits them all.
	if draw.IntN(2) == 0 {
		addons["cilium"] = object{"version": "1.19.8"}
	}
	if draw.IntN(4) == 0 {
		addons["metrics-server"] = pick(draw, object{"enabled": false}, object{"version": "3.12.2"})
	}
	spec["addons"] = addons
	return object{
		"apiVersion": "stackloom.dev/v1alpha1", "kind": "ClusterDefinition",
		"metadata": object{"name": name, "namespace": pick(draw, "team-a", "team-b")}, "spec": spec,
	}
}

func pools(draw *rand.Rand) []object {
	var pools []object
	for number := range 1 + draw.IntN(3) {
		pool := object{"name": fmt.Sprintf("md-%d", number), "class": "default-worker"}
		if draw.IntN(4) == 0 {
			pool["autoscale"] = object{"min": 1, "max": 4}
		} else {
			pool["replicas"] = 1 + draw.IntN(4)
		}
		if draw.IntN(3) == 0 {
			pool["labels"] = object{"node.cluster.x-k8s.io/dedicated": "database"}
		}
		if draw.IntN(4) == 0 {
			pool["rollout"] = object{"strategy": object{"type": "RollingUpdate", "rollingUpdate": object{"maxSurge": 1, "maxUnavailable": 0}}}
		}
		pools = append(pools, pool)
	}
	return pools
}

func openstack(draw *rand.Rand) object {
	variables := object{
		"externalNetwork":       object{"name": "public"},
		"apiServerLoadBalancer": object{"provider": pick(draw, "none", "octavia-ovn")},
		"sshKeyName":            "platform-team",
		"workerFlavor":          pick(draw, "SCS-2V-8", "SCS-8V-32"),
	}
	if draw.IntN(3) == 0 {
		variables["controlPlaneAvailabilityZones"] = []string{"az1", "az2", "az3"}
	}
	if draw.IntN(3) == 0 {
		variables["controlPlaneAdditionalBlockDevices"] = []object{{"name": "etcd", "sizeGiB": 10, "type": "ssd"}}
	}
	if draw.IntN(3) == 0 {
		variables["certSANs"] = []string{"kubernetes.example.org"}
	}
	return variables
}

func pick[T any](draw *rand.Rand, options ...T) T {
	return options[draw.IntN(len(options))]
}
