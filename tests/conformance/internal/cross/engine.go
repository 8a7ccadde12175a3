// Package cross checks what no API server checks: that the objects of a tree find each other.
package cross

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"stackloom.dev/conformance/internal/report"
	"stackloom.dev/conformance/internal/tree"
)

// identity is what makes an object one within a cluster: versions of one kind are the same object.
type identity struct{ group, kind, namespace, name string }

func (i identity) String() string {
	return fmt.Sprintf("%s.%s %s/%s", i.kind, i.group, i.namespace, i.name)
}

// applied is an object as a Kustomization brings it into a cluster.
type applied struct {
	file   string
	by     string
	object *unstructured.Unstructured
	id     identity
}

// engine is what Flux makes of one management cluster: its Kustomizations and all that they apply to it.
type engine struct {
	name    string
	objects map[identity]applied
	// remote are the objects of workload clusters, by the Secret that leads there.
	remote         map[string]map[identity]applied
	kustomizations []kustomization
}

type kustomization struct {
	file string
	spec *kustomizev1.Kustomization
}

func (k kustomization) String() string {
	return "Kustomization " + k.spec.Namespace + "/" + k.spec.Name
}

// load follows every Kustomization of a management cluster into the folder that it applies.
func load(name string, t *tree.Tree, r *report.Report) *engine {
	e := &engine{name: name, objects: map[identity]applied{}, remote: map[string]map[identity]applied{}}
	folder := "management/" + name
	reached := map[string]bool{}
	for _, f := range t.Below(folder) {
		if f.Object.GroupVersionKind().GroupKind().String() != "Kustomization."+kustomizev1.GroupVersion.Group {
			continue
		}
		k := &kustomizev1.Kustomization{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(f.Object.Object, k); err != nil {
			r.Fail(f.Path, "cross", "%v", err)
			continue
		}
		e.kustomizations = append(e.kustomizations, kustomization{f.Path, k})
	}
	for _, k := range e.kustomizations {
		for _, a := range k.read(t, r) {
			reached[a.file] = true
			e.add(k, a, r)
		}
	}
	e.loadApplications(t, reached, r)
	for _, f := range t.Below(folder) {
		if reached[f.Path] {
			continue
		}
		if !appliedByHand(strings.TrimPrefix(f.Path, folder+"/")) {
			r.Fail(f.Path, "cross", "no Kustomization and no Application of management cluster %s applies this file", name)
			continue
		}
		e.add(kustomization{}, applied{file: f.Path, by: "the user", object: f.Object, id: identify(f.Object, "")}, r)
	}
	return e
}

// appliedByHand says whether the user may apply a file of a management cluster's folder himself: the entry object, which
// applies the engine's own objects, or these where the entry stands outside the tree.
func appliedByHand(rel string) bool {
	return !strings.Contains(rel, "/") || strings.HasPrefix(rel, "flux/")
}

func (e *engine) add(k kustomization, a applied, r *report.Report) {
	objects := e.objects
	if k.spec != nil && k.spec.Spec.KubeConfig != nil && k.spec.Spec.KubeConfig.SecretRef != nil {
		secret := k.spec.Namespace + "/" + k.spec.Spec.KubeConfig.SecretRef.Name
		if e.remote[secret] == nil {
			e.remote[secret] = map[identity]applied{}
		}
		objects = e.remote[secret]
	} else if a.id.namespace == "" && !clusterScoped[a.id.kind] {
		r.Fail(a.file, "cross", "%s has no namespace, and %s sets none", a.id, a.by)
	}
	if other, twice := objects[a.id]; twice {
		r.Fail(a.file, "cross", "%s is applied by %s and, from %s, by %s", a.id, a.by, other.file, other.by)
		return
	}
	objects[a.id] = a
}

// clusterScoped are the kinds of Kubernetes itself that a tree may hold and that live in no namespace.
var clusterScoped = map[string]bool{
	"Namespace": true, "ClusterRole": true, "ClusterRoleBinding": true, "CustomResourceDefinition": true, "StorageClass": true,
	"PriorityClass": true, "RuntimeClass": true, "IngressClass": true, "GatewayClass": true, "CSIDriver": true, "VolumeSnapshotClass": true,
	"PersistentVolume": true, "APIService": true, "ValidatingWebhookConfiguration": true, "MutatingWebhookConfiguration": true,
	"ValidatingAdmissionPolicy": true, "ValidatingAdmissionPolicyBinding": true, "FlowSchema": true, "PriorityLevelConfiguration": true,
}

func identify(o *unstructured.Unstructured, targetNamespace string) identity {
	gvk := o.GroupVersionKind()
	namespace := o.GetNamespace()
	if targetNamespace != "" && !(gvk.Group == "" && gvk.Kind == "Namespace") {
		namespace = targetNamespace
	}
	return identity{gvk.Group, gvk.Kind, namespace, o.GetName()}
}

// read returns the objects of the folder that a Kustomization applies.
func (k kustomization) read(t *tree.Tree, r *report.Report) []applied {
	clean := path.Clean(strings.TrimPrefix(k.spec.Spec.Path, "./"))
	if path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") {
		r.Fail(k.file, "cross", "path %q leaves the repository", k.spec.Spec.Path)
		return nil
	}
	r.Count("paths", 1)
	all := k.walk(filepath.FromSlash(clean), k.String(), true, t, r)
	for at := range all {
		all[at].id = identify(all[at].object, k.spec.Spec.TargetNamespace)
	}
	return all
}

// walk returns the objects of a folder below the root of the repository.
func (k kustomization) walk(clean, by string, mayBeBuilt bool, t *tree.Tree, r *report.Report) []applied {
	folder := filepath.Join(t.Root, clean)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		r.Fail(k.file, "cross", "path %q is no folder of the repository", clean)
		return nil
	}
	if mayBeBuilt && k.builtByUser(t, folder, r) {
		return nil
	}
	var all []applied
	empty := false
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		empty = empty || path.Base(name) == "none.txt"
		if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" {
			return nil
		}
		found, err := k.readFile(t, name, by)
		if err != nil {
			r.Fail(place(t, name), "cross", "%s applies its folder: %v", by, err)
		}
		all = append(all, found...)
		return nil
	})
	if err != nil {
		r.Fail(k.file, "cross", "%v", err)
	}
	if len(all) == 0 && !empty {
		r.Fail(k.file, "cross", "path %q holds no Kubernetes object", clean)
	}
	return all
}

// builtByUser says whether a folder of the user's own has a kustomization.yaml, so that what it holds is not what is applied.
func (k kustomization) builtByUser(t *tree.Tree, folder string, r *report.Report) bool {
	if strings.HasPrefix(folder, t.Generated+string(filepath.Separator)) {
		return false
	}
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			r.Note("%s: %s is built by kustomize, its objects are not looked at", k.file, place(t, folder))
			return true
		}
	}
	return false
}

func (k kustomization) readFile(t *tree.Tree, name, by string) ([]applied, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []applied
	documents := utilyaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := documents.Decode(&o.Object); err != nil {
			if err.Error() == "EOF" {
				return all, nil
			}
			return all, err
		}
		if len(o.Object) == 0 {
			continue
		}
		if o.GetAPIVersion() == "" || o.GetKind() == "" || o.GetName() == "" {
			return all, fmt.Errorf("not a Kubernetes object (apiVersion %q, kind %q, name %q)", o.GetAPIVersion(), o.GetKind(), o.GetName())
		}
		all = append(all, applied{place(t, name), by, o, identify(o, "")})
	}
}

// place is a file's name below the generated folder, or below the repository for what the user owns.
func place(t *tree.Tree, name string) string {
	for _, base := range []string{t.Generated, t.Root} {
		if rel, err := filepath.Rel(base, name); err == nil && !strings.HasPrefix(rel, "..") {
			return filepath.ToSlash(rel)
		}
	}
	return name
}

// of returns the objects of a group and kind that stand in the management cluster, in a stable order.
func (e *engine) of(group, kind string) []applied {
	var found []applied
	for id, a := range e.objects {
		if id.group == group && id.kind == kind {
			found = append(found, a)
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].id.String() < found[j].id.String() })
	return found
}
