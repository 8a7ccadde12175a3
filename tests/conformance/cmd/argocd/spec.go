package main

import (
	"fmt"
	"path/filepath"
	"slices"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// syncOptions are those that Argo CD 3.5 knows, of those that the program may write.
var syncOptions = []string{
	"ApplyOutOfSyncOnly=true", "CreateNamespace=true", "Delete=false", "Prune=false", "PrunePropagationPolicy=background",
	"RespectIgnoreDifferences=true", "ServerSideApply=true", "SkipDryRunOnMissingResource=true",
}

// fleet is what Argo CD gets for a management cluster.
type fleet struct {
	root         string
	entry        *argo.Application
	applications []*argo.Application
	projects     map[string]*argo.AppProject
}

// loadFleet reads the Applications and projects of a management cluster into Argo CD's types. Unknown fields are an error.
func loadFleet(root, management string) (*fleet, error) {
	f := &fleet{root: root, projects: map[string]*argo.AppProject{}}
	folder := filepath.Join(root, "generated", "management", management)
	objects, err := manifests(folder)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if object.GroupVersionKind().Group != "argoproj.io" {
			continue
		}
		switch object.GetKind() {
		case "Application":
			app := &argo.Application{}
			if err := into(object, app); err != nil {
				return nil, fmt.Errorf("Application %s: %w", object.GetName(), err)
			}
			f.applications = append(f.applications, app)
			if app.Name == management+".fleet" {
				f.entry = app
			}
		case "AppProject":
			project := &argo.AppProject{}
			if err := into(object, project); err != nil {
				return nil, fmt.Errorf("AppProject %s: %w", object.GetName(), err)
			}
			f.projects[project.Name] = project
		default:
			return nil, fmt.Errorf("Argo CD has no kind %s", object.GetKind())
		}
	}
	if f.entry == nil {
		return nil, fmt.Errorf("%s has no entry", folder)
	}
	return f, nil
}

// faults are what Argo CD's own code refuses: of the projects themselves, and of what their Applications apply and where.
func (f *fleet) faults() []error {
	var faults []error
	for _, project := range f.projects {
		if err := project.ValidateProject(); err != nil {
			faults = append(faults, fmt.Errorf("project %s: %w", project.Name, err))
		}
	}
	for _, app := range f.applications {
		for _, fault := range f.faultsOf(app) {
			faults = append(faults, fmt.Errorf("Application %s: %w", app.Name, fault))
		}
	}
	return faults
}

func (f *fleet) faultsOf(app *argo.Application) []error {
	var faults []error
	for _, option := range app.Spec.SyncPolicy.SyncOptions {
		if !slices.Contains(syncOptions, option) {
			faults = append(faults, fmt.Errorf("unknown sync option %s", option))
		}
	}
	project, tenant := f.projects[app.Spec.Project]
	if !tenant {
		if app.Spec.Project != f.entry.Spec.Project {
			faults = append(faults, fmt.Errorf("there is no project %s", app.Spec.Project))
		}
		return faults
	}
	cluster := &argo.Cluster{Server: app.Spec.Destination.Server, Name: app.Spec.Destination.Name}
	none := func(string) ([]*argo.Cluster, error) { return nil, nil }
	if ok, err := project.IsDestinationPermitted(cluster, app.Spec.Destination.Namespace, none); err != nil || !ok {
		faults = append(faults, fmt.Errorf("project %s forbids the destination %+v: %v", project.Name, app.Spec.Destination, err))
	}
	for _, source := range app.Spec.GetSources() {
		if !project.IsSourcePermitted(source) {
			faults = append(faults, fmt.Errorf("project %s forbids the source %s", project.Name, source.RepoURL))
		}
	}
	objects, err := f.objects(app)
	if err != nil {
		return append(faults, err)
	}
	for _, object := range objects {
		namespace := object.GetNamespace()
		if namespace == "" && object.GetKind() != "Namespace" {
			namespace = app.Spec.Destination.Namespace
		}
		kind := object.GroupVersionKind().GroupKind()
		if ok, err := project.IsResourcePermitted(kind, object.GetName(), namespace, cluster, none); err != nil || !ok {
			faults = append(faults, fmt.Errorf("project %s forbids %s %s/%s: %v", project.Name, kind, namespace, object.GetName(), err))
		}
	}
	return faults
}

// objects are the files that an Application applies; none for a chart, which Argo CD renders.
func (f *fleet) objects(app *argo.Application) ([]*unstructured.Unstructured, error) {
	source := app.Spec.GetSource()
	if source.Chart != "" || source.Helm != nil {
		return nil, nil
	}
	return manifests(filepath.Join(f.root, filepath.FromSlash(source.Path)))
}
