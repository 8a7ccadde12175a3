// Command argocd syncs the Applications of a working tree as Argo CD would, into clusters that are given by kubeconfig. Argo CD itself does
// not run there; the Application and AppProject definitions must be installed, and the entry applied.
//
//	argocd -root FLEET -kubeconfig HUB [-cluster NAME=KUBECONFIG]… [-revision REVISION]
//
// It ends with 0 once nothing is left to do. Run it again after each commit. It finds objects that left git if the tree still has others of
// their kind.
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
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	root := flag.String("root", ".", "the working tree")
	kubeconfig := flag.String("kubeconfig", "", "the cluster that Argo CD would run in")
	namespace := flag.String("namespace", "argocd", "the namespace of Argo CD")
	revision := flag.String("revision", "work", "what the tree is called in the status of Applications")
	scripts := flag.String("health", "", "an argocd-cm with health scripts: `stackloom argocd health`")
	rounds := flag.Int("rounds", 200, "how often to look at every Application at most")
	interval := flag.Duration("interval", 3*time.Second, "how long to wait between rounds")
	clusters := map[string]string{}
	flag.Func("cluster", "NAME=KUBECONFIG of a registered cluster", func(text string) error {
		name, file, ok := strings.Cut(text, "=")
		if !ok {
			return fmt.Errorf("%q is not NAME=KUBECONFIG", text)
		}
		clusters[name] = file
		return nil
	})
	flag.Parse()
	if err := run(*root, *kubeconfig, *namespace, *revision, *scripts, clusters, *rounds, *interval); err != nil {
		fmt.Fprintln(os.Stderr, "argocd:", err)
		os.Exit(1)
	}
}

func run(root, kubeconfig, namespace, revision, scripts string, clusters map[string]string, rounds int, interval time.Duration) error {
	hub, err := load(kubeconfig)
	if err != nil {
		return err
	}
	overrides, err := healthScripts(scripts)
	if err != nil {
		return err
	}
	a := &applier{
		root: root, revision: revision, namespace: namespace, hub: hub, clusters: map[string]*target{argo.KubernetesInternalAPIServerAddr: hub},
		scripts: overrides, running: map[string]*operation{}, last: map[string]attempt{},
	}
	for name, file := range clusters {
		if a.clusters[name], err = load(file); err != nil {
			return err
		}
	}
	// What left git is looked for in the kinds of the fleet, and in what is applied from now on.
	objects, err := manifests(filepath.Join(root, "generated"))
	if err != nil {
		return err
	}
	for _, where := range a.clusters {
		for _, object := range objects {
			if _, _, err := where.of(object.GroupVersionKind(), ""); err == nil {
				where.note(object.GroupVersionKind())
			}
		}
	}
	return a.settle(context.Background(), rounds, func() { time.Sleep(interval) })
}

func load(kubeconfig string) (*target, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 200, 400
	return newTarget(config)
}
