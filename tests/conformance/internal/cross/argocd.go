package cross

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"stackloom.dev/conformance/internal/report"
	"stackloom.dev/conformance/internal/tree"
)

const argoGroup = "argoproj.io"

// application holds the fields of Argo CD's Application that decide what is applied, and where. cmd/argocd, a module of its own, reads
// the same objects with Argo CD's types.
type application struct {
	Spec struct {
		Project     string      `json:"project"`
		Destination destination `json:"destination"`
		Source      struct {
			RepoURL        string `json:"repoURL"`
			Path           string `json:"path"`
			Chart          string `json:"chart"`
			TargetRevision string `json:"targetRevision"`
			Directory      *struct {
				Recurse bool `json:"recurse"`
			} `json:"directory"`
			Helm *struct {
				ReleaseName string `json:"releaseName"`
			} `json:"helm"`
		} `json:"source"`
		SyncPolicy struct {
			Automated *struct {
				Prune bool `json:"prune"`
			} `json:"automated"`
			SyncOptions []string `json:"syncOptions"`
		} `json:"syncPolicy"`
	} `json:"spec"`
}

type destination struct {
	Server    string `json:"server"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// cluster is what a destination leads to.
func (d destination) cluster() string {
	return d.Server + d.Name
}

type project struct {
	Spec struct {
		SourceRepos                []string      `json:"sourceRepos"`
		Destinations               []destination `json:"destinations"`
		ClusterResourceWhitelist   []groupKind   `json:"clusterResourceWhitelist"`
		NamespaceResourceWhitelist []groupKind   `json:"namespaceResourceWhitelist"`
		NamespaceResourceBlacklist []groupKind   `json:"namespaceResourceBlacklist"`
	} `json:"spec"`
}

type groupKind struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
}

func (g groupKind) matches(group, kind string) bool {
	return glob(g.Group, group) && glob(g.Kind, kind)
}

// glob matches as Argo CD does in projects, for patterns whose only wildcard is an asterisk.
func glob(pattern, text string) bool {
	matched, err := path.Match(pattern, text)
	return err == nil && matched || pattern == "*"
}

func (p project) permitsDestination(d destination) bool {
	return slices.ContainsFunc(p.Spec.Destinations, func(one destination) bool {
		cluster := one.Name != "" && glob(one.Name, d.Name) || one.Server != "" && glob(one.Server, d.Server)
		return cluster && glob(one.Namespace, d.Namespace)
	})
}

func (p project) permitsKind(o *unstructured.Unstructured) bool {
	gvk := o.GroupVersionKind()
	matches := func(one groupKind) bool { return one.matches(gvk.Group, gvk.Kind) }
	if o.GetNamespace() == "" && clusterScoped[gvk.Kind] {
		return slices.ContainsFunc(p.Spec.ClusterResourceWhitelist, matches)
	}
	listed := p.Spec.NamespaceResourceWhitelist == nil || slices.ContainsFunc(p.Spec.NamespaceResourceWhitelist, matches)
	return listed && !slices.ContainsFunc(p.Spec.NamespaceResourceBlacklist, matches)
}

// argo is what Argo CD makes of one management cluster.
type argo struct {
	projects     map[string]project
	applications []found
	// entry is the Application that the user applies.
	entry *found
	// management is the management cluster, hub the one that Argo CD runs in.
	management, hub string
}

type found struct {
	file   string
	object *unstructured.Unstructured
	is     application
}

func (f found) String() string { return "Application " + f.object.GetName() }

// loadApplications follows every Application of a management cluster, and marks the files that they apply.
func (e *engine) loadApplications(t *tree.Tree, reached map[string]bool, r *report.Report) {
	folder := "management/" + e.name
	a := argo{projects: map[string]project{}}
	for _, f := range t.Below(folder) {
		gvk := f.Object.GroupVersionKind()
		if gvk.Group != argoGroup {
			continue
		}
		switch gvk.Kind {
		case "AppProject":
			p := project{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(f.Object.Object, &p); err != nil {
				r.Fail(f.Path, "cross", "%v", err)
			}
			a.projects[f.Object.GetName()] = p
		case "Application":
			one := found{file: f.Path, object: f.Object}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(f.Object.Object, &one.is); err != nil {
				r.Fail(f.Path, "cross", "%v", err)
			}
			a.applications = append(a.applications, one)
			if f.Path == folder+"/argocd/fleet/entry.yaml" {
				a.entry = &one
			}
		}
	}
	if len(a.applications) == 0 {
		return
	}
	if a.entry == nil {
		r.Fail(folder, "cross", "no entry Application")
		return
	}
	a.hub = a.entry.is.Spec.Destination.cluster()
	for _, one := range a.applications {
		if strings.Contains(one.is.Spec.Source.Path, "/namespaces/") {
			a.management = one.is.Spec.Destination.cluster()
		}
	}
	for _, one := range a.applications {
		r.Count("Applications", 1)
		e.follow(one, a, t, reached, r)
	}
	reached[a.entry.file] = true
}

func (e *engine) follow(one found, a argo, t *tree.Tree, reached map[string]bool, r *report.Report) {
	spec := one.is.Spec
	project, tenant := a.projects[spec.Project]
	if !tenant && spec.Project != a.entry.is.Spec.Project {
		r.Fail(one.file, "cross", "is in the project %q, which does not exist", spec.Project)
		return
	}
	if tenant && !project.permitsDestination(spec.Destination) {
		r.Fail(one.file, "cross", "the project %s does not allow the destination %+v", spec.Project, spec.Destination)
	}
	if tenant && !slices.ContainsFunc(project.Spec.SourceRepos, func(repo string) bool { return glob(repo, spec.Source.RepoURL) }) {
		r.Fail(one.file, "cross", "the project %s does not allow the source %s", spec.Project, spec.Source.RepoURL)
	}
	one.checkProtection(r)
	if spec.Source.Helm != nil {
		r.Count("charts of Applications", 1)
		return
	}
	k := kustomization{file: one.file}
	for _, o := range k.files(spec.Source.Path, one.String(), spec.Source.Directory == nil, t, r) {
		reached[o.file] = true
		if tenant && !project.permitsKind(o.object) {
			r.Fail(o.file, "cross", "the project %s does not allow %s", spec.Project, o.id)
		}
		if o.object.GetNamespace() == "" && !clusterScoped[o.id.kind] {
			o.id.namespace = spec.Destination.Namespace
		} else if tenant && o.object.GetNamespace() != "" {
			elsewhere := spec.Destination
			elsewhere.Namespace = o.object.GetNamespace()
			if !project.permitsDestination(elsewhere) {
				r.Fail(o.file, "cross", "the project %s does not allow the namespace %s", spec.Project, elsewhere.Namespace)
			}
		}
		e.put(spec.Destination, a, o, r)
	}
}

// put adds an object to the cluster that an Application applies to: the management cluster, the hub, or a workload cluster.
func (e *engine) put(d destination, a argo, o applied, r *report.Report) {
	cluster := d.cluster()
	if o.id.group == argoGroup && cluster != a.hub {
		r.Fail(o.file, "cross", "%s is applied to %s, and Argo CD runs in %s", o.id, cluster, a.hub)
	}
	objects := e.objects
	if cluster != a.hub && cluster != a.management {
		if e.remote[cluster] == nil {
			e.remote[cluster] = map[identity]applied{}
		}
		objects = e.remote[cluster]
	}
	if other, twice := objects[o.id]; twice {
		r.Fail(o.file, "cross", "%s is applied by %s and, from %s, by %s", o.id, o.by, other.file, other.by)
		return
	}
	objects[o.id] = o
}

// checkProtection requires that what must outlive its Application does, and that nothing of it is pruned.
func (f found) checkProtection(r *report.Report) {
	spec := f.is.Spec
	cascades := len(f.object.GetFinalizers()) > 0
	if strings.HasSuffix(spec.Source.Path, "/cluster-class") {
		r.Count("Applications of releases", 1)
		for _, option := range []string{"Prune=false", "Delete=false"} {
			if !slices.Contains(spec.SyncPolicy.SyncOptions, option) {
				r.Fail(f.file, "cross", "the Application of a release lacks the sync option %s", option)
			}
		}
		if cascades || spec.SyncPolicy.Automated != nil && spec.SyncPolicy.Automated.Prune {
			r.Fail(f.file, "cross", "the Application of a release prunes, or deletes its classes with itself")
		}
	}
	if !slices.Contains(spec.SyncPolicy.SyncOptions, "ServerSideApply=true") {
		r.Fail(f.file, "cross", "does not apply on the server's side")
	}
}

// checkArgoClusters requires that the Cluster of no Application that deletes its objects can be deleted with it.
func (e *engine) checkArgoClusters(r *report.Report) {
	const annotation = "argocd.argoproj.io/sync-options"
	for _, a := range e.objects {
		if !strings.HasPrefix(a.by, "Application") || a.id.kind != "Cluster" && a.id.kind != "Namespace" {
			continue
		}
		r.Count("objects that Argo CD keeps", 1)
		removed := a.object.GetAnnotations()["stackloom.dev/removal"] != ""
		if options := a.object.GetAnnotations()[annotation]; !removed && options != "Prune=false,Delete=false" {
			r.Fail(a.file, "cross", "Argo CD may delete it: %s is %q", annotation, options)
		}
	}
}

// files reads the objects of a folder; one that its user builds with kustomize is not looked at.
func (k kustomization) files(folder, by string, built bool, t *tree.Tree, r *report.Report) []applied {
	if strings.HasPrefix(folder, "/") || strings.HasPrefix(path.Clean(folder), "..") {
		r.Fail(k.file, "cross", "path %q leaves the repository", folder)
		return nil
	}
	return k.walk(filepath.FromSlash(path.Clean(folder)), by, built, t, r)
}
