package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	trackingID = "argocd.argoproj.io/tracking-id"
	cascade    = "resources-finalizer.argocd.argoproj.io"
)

var (
	applicationKind = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}
	projectKind     = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "AppProject"}
)

// applier does what Argo CD's application controller does with the Applications of a fleet. The sync itself (waves, hooks, pruning, and
// what a sync waits for) is the gitops engine's, the decision when to sync, what is deleted with an Application, and the states of
// Applications follow controller/appcontroller.go and controller/state.go of 3.5.1. It differs from Argo CD in this:
//
//   - it reads a working tree, not a repository; all Applications are compared in each round, as if each commit came with a webhook;
//   - times are rounds: a failed sync is tried again in the next round;
//   - it compares by a server-side dry run alone, without ignoreDifferences, which the program writes nowhere;
//   - it finds what left git by the tracking annotation, in the kinds of `kinds` and those that it has applied since it was started;
//   - charts are rendered by `charts`; without it, their Applications cannot be compared.
type applier struct {
	root, revision, namespace string
	hub                       *target
	// clusters are those that are registered, by name or server.
	clusters map[string]*target
	// kinds are those of the fleet: what left git is looked for in these, and in what is applied from now on.
	kinds   map[schema.GroupVersionKind]bool
	scripts lua.ResourceHealthOverrides
	charts  func(*argo.Application) ([]*unstructured.Unstructured, error)
	running map[string]*operation
	last    map[string]attempt
	// changed tells whether the health of an Application changed in this round.
	changed bool
}

// operation is a sync that runs. It keeps the revision that it began with.
type operation struct {
	revision string
	objects  []*unstructured.Unstructured
	prune    bool
	only     map[kube.ResourceKey]bool
	results  []common.ResourceSyncResult
	phase    common.OperationPhase
	message  string
	started  metav1.Time
}

type attempt struct {
	revision string
	phase    common.OperationPhase
	message  string
	retries  int
	started  metav1.Time
}

// comparison is an Application against what is there.
type comparison struct {
	is       sync.ReconciliationResult
	diffs    diff.DiffResultList
	modified map[kube.ResourceKey]bool
	synced   bool
	health   health.HealthStatus
}

// round looks at every Application once, in the order of their names, and reports what it did.
func (a *applier) round(ctx context.Context) ([]string, error) {
	objects, err := a.hub.list(ctx, applicationKind)
	if err != nil {
		return nil, err
	}
	var did []string
	for _, listed := range objects {
		if listed.GetNamespace() != a.namespace {
			continue
		}
		// An Application before it may have deleted it.
		object, err := a.hub.get(ctx, applicationKind, listed.GetNamespace(), listed.GetName())
		if err != nil {
			return did, err
		}
		if object == nil {
			continue
		}
		app := &argo.Application{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, app); err != nil {
			return did, err
		}
		what, err := a.reconcile(ctx, app, object)
		if err != nil {
			return did, fmt.Errorf("%s: %w", app.Name, err)
		}
		if what != "" {
			did = append(did, app.Name+": "+what)
		}
	}
	return did, nil
}

// settle goes on until nothing is done any more.
func (a *applier) settle(ctx context.Context, rounds int, between func()) error {
	var did []string
	for range rounds {
		a.changed = false
		var err error
		if did, err = a.round(ctx); err != nil {
			return err
		}
		if between != nil {
			between()
		}
		if len(did) == 0 && !a.changed {
			return nil
		}
	}
	return fmt.Errorf("not settled after %d rounds; the last one: %s", rounds, strings.Join(did, "; "))
}

func (a *applier) reconcile(ctx context.Context, app *argo.Application, object *unstructured.Unstructured) (string, error) {
	where := a.clusters[app.Spec.Destination.Server+app.Spec.Destination.Name]
	if object.GetDeletionTimestamp() != nil {
		delete(a.running, app.Name)
		return a.finalize(ctx, app, object, where)
	}
	if where == nil {
		return "", a.report(ctx, app, object, nil, argo.ApplicationConditionInvalidSpecError, "there are no clusters with this name")
	}
	project, err := a.hub.get(ctx, projectKind, a.namespace, app.Spec.Project)
	if err != nil {
		return "", err
	}
	if project == nil {
		delete(a.running, app.Name)
		return "", a.report(ctx, app, object, nil, argo.ApplicationConditionInvalidSpecError, "its project does not exist")
	}
	objects, err := a.objects(app)
	if err != nil {
		return "", a.report(ctx, app, object, nil, argo.ApplicationConditionComparisonError, err.Error())
	}
	op, did := a.running[app.Name], ""
	if op == nil {
		found, err := a.compare(ctx, app, where, objects)
		if err != nil {
			return "", err
		}
		if op = a.decide(app, found, objects); op == nil {
			return "", a.report(ctx, app, object, found, "", "")
		}
		a.running[app.Name] = op
		did = "sync of " + a.revision
	}
	found, err := a.step(ctx, app, where, op)
	if err != nil {
		return did, err
	}
	if op.phase.Completed() {
		before := a.last[app.Name]
		a.last[app.Name] = attempt{a.revision, op.phase, op.message, before.retries + 1, op.started}
		if op.phase.Successful() {
			a.last[app.Name] = attempt{op.revision, op.phase, op.message, 0, op.started}
		}
		delete(a.running, app.Name)
		did = strings.TrimPrefix(did+", "+string(op.phase), ", ")
	}
	return did, a.report(ctx, app, object, found, "", "")
}

// objects are what an Application applies at the revision that is checked out.
func (a *applier) objects(app *argo.Application) ([]*unstructured.Unstructured, error) {
	source := app.Spec.GetSource()
	if source.Helm == nil {
		return manifests(filepath.Join(a.root, filepath.FromSlash(source.Path)))
	}
	if a.charts == nil {
		return nil, fmt.Errorf("charts are not rendered")
	}
	return a.charts(app)
}

// compare finds what is there of the objects, what left git, and what a server-side apply would change.
func (a *applier) compare(ctx context.Context, app *argo.Application, where *target, objects []*unstructured.Unstructured) (*comparison, error) {
	targets := make([]*unstructured.Unstructured, 0, len(objects))
	live := map[kube.ResourceKey]*unstructured.Unstructured{}
	for _, object := range objects {
		object = object.DeepCopy()
		_, namespaced, err := where.of(object.GroupVersionKind(), "")
		if object.GetNamespace() == "" && (err != nil || namespaced) {
			object.SetNamespace(app.Spec.Destination.Namespace)
		}
		annotations := maps.Clone(object.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[trackingID] = tracked(app, object)
		object.SetAnnotations(annotations)
		targets = append(targets, object)
		found, err := where.get(ctx, object.GroupVersionKind(), object.GetNamespace(), object.GetName())
		if err != nil {
			return nil, err
		}
		if found != nil {
			live[kube.GetResourceKey(found)] = found
		}
	}
	for _, gvk := range where.noted() {
		all, err := where.list(ctx, gvk)
		if err != nil {
			return nil, err
		}
		for _, found := range all {
			// Objects with owners are nobody's in git.
			if found.GetAnnotations()[trackingID] == tracked(app, &found) && len(found.GetOwnerReferences()) == 0 {
				live[kube.GetResourceKey(&found)] = &found
			}
		}
	}
	// Argo CD does not see objects that the project does not allow, and never prunes them.
	permits := a.permits(ctx, app)
	for key, found := range live {
		if permits(found, &metav1.APIResource{Namespaced: found.GetNamespace() != ""}) != nil {
			delete(live, key)
		}
	}
	result := &comparison{is: sync.Reconcile(targets, live, app.Spec.Destination.Namespace, scopes{where}), modified: map[kube.ResourceKey]bool{}, synced: true}
	return result, a.judge(ctx, app, where, result)
}

// judge compares each object with what is there, and finds the health of all.
func (a *applier) judge(ctx context.Context, app *argo.Application, where *target, result *comparison) error {
	result.health.Status = health.HealthStatusHealthy
	for at, target := range result.is.Target {
		live := result.is.Live[at]
		one := diff.DiffResult{NormalizedLive: encode(live), PredictedLive: encode(target), Modified: target == nil || live == nil}
		if target != nil && live != nil {
			predicted, err := where.apply(ctx, target, true)
			if err != nil {
				// Argo CD then cannot compare; the sync tells why.
				one.Modified = true
			} else {
				one.PredictedLive, one.Modified = encode(predicted), !equal(live, predicted)
			}
		}
		result.diffs.Diffs = append(result.diffs.Diffs, one)
		object := target
		if object == nil {
			object = live
		}
		result.modified[kube.GetResourceKey(object)] = one.Modified
		result.synced = result.synced && !one.Modified
		// What is missing, and the Application itself, do not count.
		if live == nil || live.GetUID() == app.UID {
			continue
		}
		status, err := health.GetResourceHealth(live, a.scripts)
		if err != nil {
			return err
		}
		if status != nil && health.IsWorse(result.health.Status, status.Status) {
			result.health = *status
		}
	}
	return nil
}

// decide starts a sync where Argo CD's automated sync would.
func (a *applier) decide(app *argo.Application, found *comparison, objects []*unstructured.Unstructured) *operation {
	policy := app.Spec.SyncPolicy
	if policy == nil || !policy.IsAutomatedSyncEnabled() || found.synced {
		return nil
	}
	prunes, all, only := true, true, map[kube.ResourceKey]bool{}
	for at, target := range found.is.Target {
		all = all && target == nil
		object := target
		if object == nil {
			object = found.is.Live[at]
		}
		if key := kube.GetResourceKey(object); found.modified[key] {
			only[key] = true
			prunes = prunes && target == nil
		}
	}
	if !policy.Automated.GetPrune() && prunes || policy.Automated.GetPrune() && !policy.Automated.GetAllowEmpty() && all {
		return nil
	}
	last := a.last[app.Name]
	op := &operation{revision: a.revision, objects: objects, prune: policy.Automated.GetPrune(), started: metav1.Now()}
	if last.revision == a.revision && last.phase.Successful() {
		if !policy.Automated.GetSelfHeal() || a.ignored(app, found) {
			return nil
		}
		op.only = only
	}
	return op
}

// ignored tells whether another sync would change nothing: all that is out of sync is to be pruned, and kept.
func (a *applier) ignored(app *argo.Application, found *comparison) bool {
	for at, target := range found.is.Target {
		live := found.is.Live[at]
		if target != nil && found.modified[kube.GetResourceKey(target)] || target == nil && !kept(app, live, common.SyncOptionPrune) {
			return false
		}
	}
	return true
}

// step goes on with a sync, in the gitops engine.
func (a *applier) step(ctx context.Context, app *argo.Application, where *target, op *operation) (*comparison, error) {
	found, err := a.compare(ctx, app, where, op.objects)
	if err != nil {
		return nil, err
	}
	options := app.Spec.SyncPolicy.SyncOptions
	propagation := metav1.DeletePropagationForeground
	if options.HasOption("PrunePropagationPolicy=background") {
		propagation = metav1.DeletePropagationBackground
	}
	settings := []sync.SyncOpt{
		sync.WithLogr(logr.Discard()),
		sync.WithHealthOverride(a.scripts),
		sync.WithPermissionValidator(a.permits(ctx, app)),
		sync.WithOperationSettings(false, op.prune, false, len(op.only) > 0),
		sync.WithInitialState(op.phase, op.message, op.results, op.started),
		sync.WithResourcesFilter(func(key kube.ResourceKey, _, _ *unstructured.Unstructured) bool {
			return len(op.only) == 0 || op.only[key]
		}),
		sync.WithPruneLast(options.HasOption(common.SyncOptionPruneLast)),
		sync.WithResourceModificationChecker(options.HasOption(common.SyncOptionApplyOutOfSyncOnly), &found.diffs),
		sync.WithPrunePropagationPolicy(&propagation),
		sync.WithServerSideApply(options.HasOption(common.SyncOptionServerSideApply)),
		sync.WithServerSideApplyManager(manager),
		sync.WithDefaultPruneOption(options.GetOptionValue(common.SyncOptionPrune)),
		sync.WithSkipDryRunOnMissingResource(options.HasOption(common.SyncOptionSkipDryRunOnMissingResource)),
	}
	if options.HasOption("CreateNamespace=true") {
		settings = append(settings, sync.WithNamespaceModifier(func(_, live *unstructured.Unstructured) (bool, error) { return live == nil, nil }))
	}
	engine, done, err := sync.NewSyncContext(op.revision, found.is, where.config, where.config, newKubectl(where), app.Spec.Destination.Namespace, settings...)
	if err != nil {
		return nil, err
	}
	defer done()
	engine.Sync()
	op.phase, op.message, op.results = engine.GetState()
	return a.compare(ctx, app, where, op.objects)
}

// permits asks the project of an Application, as it is now.
func (a *applier) permits(ctx context.Context, app *argo.Application) common.PermissionValidator {
	project := &argo.AppProject{}
	found, missing := a.hub.get(ctx, projectKind, a.namespace, app.Spec.Project)
	if missing == nil && found == nil {
		missing = fmt.Errorf("it does not exist")
	}
	if missing == nil {
		missing = runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, project)
	}
	cluster := &argo.Cluster{Server: app.Spec.Destination.Server, Name: app.Spec.Destination.Name}
	return func(object *unstructured.Unstructured, resource *metav1.APIResource) error {
		if missing != nil {
			return fmt.Errorf("project %s: %w", app.Spec.Project, missing)
		}
		namespace := object.GetNamespace()
		if !resource.Namespaced {
			namespace = ""
		}
		kind := object.GroupVersionKind().GroupKind()
		ok, err := project.IsResourcePermitted(kind, object.GetName(), namespace, cluster, func(string) ([]*argo.Cluster, error) { return nil, nil })
		if err != nil || !ok {
			return fmt.Errorf("resource %s is not permitted in project %s: %v", kind, project.Name, err)
		}
		return nil
	}
}

type scopes struct{ *target }

func (s scopes) IsNamespaced(kind schema.GroupKind) (bool, error) {
	for _, gvk := range s.noted() {
		if gvk.GroupKind() == kind {
			_, namespaced, err := s.of(gvk, "")
			return namespaced, err
		}
	}
	return false, fmt.Errorf("unknown kind %s", kind)
}
