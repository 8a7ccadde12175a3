// Command argocd syncs the Applications of a working tree as Argo CD would, into clusters that are given by kubeconfig. Argo CD itself does
// not run there; the Application and AppProject definitions must be installed, and the entry applied.
//
//	argocd -root FLEET -kubeconfig HUB -health CONFIGMAP [-cluster NAME=KUBECONFIG]… [-stand-in-charts] [-revision REVISION]
//
// It prints what it does. Once nothing is left to do and no Application is Progressing, it prints the Applications that are not Synced and
// Healthy, and ends with 0. Run it again after each commit. It finds objects that left git if the tree still has others of their kind.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	root := flag.String("root", ".", "the working tree")
	kubeconfig := flag.String("kubeconfig", "", "the cluster that Argo CD would run in")
	namespace := flag.String("namespace", "argocd", "the namespace of Argo CD")
	revision := flag.String("revision", "work", "what the tree is called in the status of Applications")
	scripts := flag.String("health", "", "an argocd-cm with health scripts: `stackloom argocd health`")
	charts := flag.Bool("stand-in-charts", false, "apply a ConfigMap with its name and version for each chart; otherwise charts are an error")
	rounds := flag.Int("rounds", 200, "how often to look at every Application at most")
	interval := flag.Duration("interval", 3*time.Second, "how long to wait between rounds")
	clusters := map[string]string{}
	flag.Func("cluster", "NAME=KUBECONFIG of a cluster, which is registered once the file is there", func(text string) error {
		name, file, ok := strings.Cut(text, "=")
		if !ok {
			return fmt.Errorf("%q is not NAME=KUBECONFIG", text)
		}
		clusters[name] = file
		return nil
	})
	flag.Parse()
	a, err := newApplier(*root, *kubeconfig, *scripts)
	if err == nil {
		a.namespace, a.revision = *namespace, *revision
		if *charts {
			a.charts = standIn
		}
		err = run(a, clusters, *rounds, *interval)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "argocd:", err)
		os.Exit(1)
	}
}

func run(a *applier, clusters map[string]string, rounds int, interval time.Duration) error {
	ctx, say := context.Background(), func(line string) { fmt.Println(line) }
	if err := a.follow(ctx, rounds, interval, clusters, say); err != nil {
		return err
	}
	left, err := a.states(ctx, unsettled)
	for _, line := range left {
		say(line)
	}
	return err
}

func newApplier(root, kubeconfig, scripts string) (*applier, error) {
	hub, err := load(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kubeconfig, err)
	}
	overrides, err := healthScripts(scripts)
	if err != nil {
		return nil, err
	}
	a := &applier{
		root: root, hub: hub, clusters: map[string]*target{argo.KubernetesInternalAPIServerAddr: hub},
		scripts: overrides, running: map[string]*operation{}, last: map[string]attempt{}, kinds: map[schema.GroupVersionKind]bool{},
	}
	objects, err := manifests(filepath.Join(root, "generated", "management"))
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		a.kinds[object.GroupVersionKind()] = true
	}
	a.look(hub)
	return a, nil
}

func load(kubeconfig string) (*target, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 200, 400
	return newTarget(config)
}
