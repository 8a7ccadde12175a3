package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestItFollowsUntilNothingIsOnItsWay(t *testing.T) {
	w := newWorld(t, commits(t))
	w.start()
	ctx, said := context.Background(), []string{}
	say := func(line string) { said = append(said, line) }
	if err := w.applier.follow(ctx, calm, 0, nil, say); err != nil || len(said) > 0 {
		t.Error(err, said)
	}
	// Cluster API does nothing here, so the upgrade stays on its way.
	w.applier.root, w.applier.revision = filepath.Join(w.folder, "upgraded"), "upgraded"
	err := w.applier.follow(ctx, 2*calm, 0, nil, say)
	if err == nil || !strings.Contains(err.Error(), "mgmt.cluster.blue.one is Synced, Progressing") {
		t.Error(err)
	}
	if len(said) == 0 || !strings.Contains(strings.Join(said, "\n"), "round 1: mgmt.cluster.blue.one: sync of upgraded, Succeeded") {
		t.Error(said)
	}
}

func TestAClusterIsRegisteredOnceItsKubeconfigIsThere(t *testing.T) {
	w := newWorld(t, commits(t))
	w.start()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	registrations := map[string]string{"red-three": file}
	if err := w.applier.register(registrations); err != nil || w.applier.clusters["red-three"] != nil {
		t.Fatal(err, "it is registered without a kubeconfig")
	}
	config := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], users: [{name: a}], "+
		"clusters: [{name: a, cluster: {server: %q}}]}", w.workloads["blue-one"].URL)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.applier.register(registrations); err != nil || w.applier.clusters["red-three"] == nil {
		t.Fatal(err, "it is not registered")
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	delete(w.applier.clusters, "red-three")
	if err := w.applier.register(registrations); err == nil || !strings.Contains(err.Error(), file) {
		t.Error("a broken kubeconfig is no error with its place:", err)
	}
}
