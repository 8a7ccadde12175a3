package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// A kind that the server has.
type kind struct {
	gvk        schema.GroupVersionKind
	resource   string
	namespaced bool
}

// server keeps objects in memory and speaks as much of Kubernetes' API as the gitops engine and the applier use: discovery, get, list,
// server-side apply with the API server's own field manager, JSON merge patches and deletion with finalizers. It has no schemas, so lists
// are replaced as a whole, no validation but for what `refuse` says, no watches, and no garbage collection.
type server struct {
	*httptest.Server
	sync.Mutex
	kinds   []kind
	objects map[string]*unstructured.Unstructured
	next    int
	// refuse says why an object is not admitted.
	refuse func(s *server, object *unstructured.Unstructured) error
	// applied are the objects in the order in which they were created.
	applied []string
}

func newServer(t *testing.T, kinds []kind) *server {
	s := &server{kinds: kinds, objects: map[string]*unstructured.Unstructured{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *server) config() *rest.Config { return &rest.Config{Host: s.URL, QPS: 1e6, Burst: 1e6} }

func key(gvk schema.GroupVersionKind, namespace, name string) string {
	return fmt.Sprintf("%s.%s/%s/%s", gvk.Kind, gvk.Group, namespace, name)
}

func keyOf(object *unstructured.Unstructured) string {
	return key(object.GroupVersionKind(), object.GetNamespace(), object.GetName())
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var gv schema.GroupVersion
	switch {
	case len(parts) >= 2 && parts[0] == "api":
		gv, parts = schema.GroupVersion{Version: parts[1]}, parts[2:]
	case len(parts) >= 3 && parts[0] == "apis":
		gv, parts = schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:]
	default:
		s.status(w, http.StatusNotFound, r.URL.Path)
		return
	}
	if len(parts) == 0 {
		s.discover(w, gv)
		return
	}
	namespace := ""
	if parts[0] == "namespaces" && len(parts) > 2 {
		namespace, parts = parts[1], parts[2:]
	}
	at := slices.IndexFunc(s.kinds, func(one kind) bool { return one.gvk.GroupVersion() == gv && one.resource == parts[0] })
	if at < 0 {
		s.status(w, http.StatusNotFound, r.URL.Path)
		return
	}
	if len(parts) == 1 {
		s.list(w, s.kinds[at].gvk, namespace)
		return
	}
	s.one(w, r, s.kinds[at].gvk, namespace, parts[1])
}

func (s *server) one(w http.ResponseWriter, r *http.Request, gvk schema.GroupVersionKind, namespace, name string) {
	id := key(gvk, namespace, name)
	live := s.objects[id]
	switch r.Method {
	case http.MethodGet:
		if live == nil {
			s.status(w, http.StatusNotFound, id)
			return
		}
		s.send(w, live)
	case http.MethodDelete:
		if live == nil {
			s.status(w, http.StatusNotFound, id)
			return
		}
		s.remove(live)
		s.send(w, live)
	case http.MethodPatch:
		patch, err := body(r)
		if err != nil {
			s.status(w, http.StatusBadRequest, err.Error())
			return
		}
		dry := r.URL.Query().Get("dryRun") != ""
		object, err := s.patched(types.PatchType(r.Header.Get("Content-Type")), live, patch, gvk, r.URL.Query().Get("fieldManager"))
		if err == nil && object != nil && s.refuse != nil {
			err = s.refuse(s, object)
		}
		if err != nil {
			s.status(w, http.StatusUnprocessableEntity, err.Error())
			return
		}
		object.SetNamespace(namespace)
		if !dry {
			s.put(object)
		}
		s.send(w, object)
	default:
		s.status(w, http.StatusMethodNotAllowed, r.Method)
	}
}

// body reads integers as integers, as the API server does.
func body(r *http.Request) (map[string]any, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		return nil, err
	}
	var object map[string]any
	return object, utiljson.Unmarshal(text, &object)
}

func (s *server) patched(how types.PatchType, live *unstructured.Unstructured, patch map[string]any, gvk schema.GroupVersionKind, manager string) (*unstructured.Unstructured, error) {
	if how == types.ApplyPatchType {
		return apply(live, &unstructured.Unstructured{Object: patch}, gvk, manager)
	}
	if live == nil {
		return nil, fmt.Errorf("there is nothing to patch")
	}
	object := live.DeepCopy()
	object.Object = merge(object.Object, patch).(map[string]any)
	return object, nil
}

// put stores an object. Its generation grows with its spec.
func (s *server) put(object *unstructured.Unstructured) {
	id := keyOf(object)
	old := s.objects[id]
	s.next++
	switch {
	case old == nil:
		s.applied = append(s.applied, id)
		object.SetUID(types.UID(fmt.Sprintf("uid-%d", s.next)))
		object.SetGeneration(1)
		object.SetCreationTimestamp(metav1.Now())
	case !same(old.Object["spec"], object.Object["spec"]):
		object.SetGeneration(old.GetGeneration() + 1)
	}
	object.SetResourceVersion(fmt.Sprint(s.next))
	s.objects[id] = object
	if object.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) == 0 {
		delete(s.objects, id)
	}
}

func (s *server) remove(object *unstructured.Unstructured) {
	if len(object.GetFinalizers()) == 0 {
		delete(s.objects, keyOf(object))
		return
	}
	if object.GetDeletionTimestamp() == nil {
		now := metav1.Now()
		object.SetDeletionTimestamp(&now)
	}
}

func (s *server) list(w http.ResponseWriter, gvk schema.GroupVersionKind, namespace string) {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": gvk.GroupVersion().String(), "kind": gvk.Kind + "List"}}
	for _, object := range s.objects {
		if object.GroupVersionKind() == gvk && (namespace == "" || object.GetNamespace() == namespace) {
			list.Items = append(list.Items, *object)
		}
	}
	slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int { return strings.Compare(keyOf(&a), keyOf(&b)) })
	s.send(w, list)
}

func (s *server) discover(w http.ResponseWriter, gv schema.GroupVersion) {
	resources := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String()}
	for _, one := range s.kinds {
		if one.gvk.GroupVersion() == gv {
			resources.APIResources = append(resources.APIResources, metav1.APIResource{
				Name: one.resource, Kind: one.gvk.Kind, Namespaced: one.namespaced, Verbs: metav1.Verbs{"get", "list", "patch", "delete"},
			})
		}
	}
	if len(resources.APIResources) == 0 {
		s.status(w, http.StatusNotFound, gv.String())
		return
	}
	s.send(w, resources)
}

func (s *server) send(w http.ResponseWriter, what any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(what); err != nil {
		panic(err)
	}
}

func (s *server) status(w http.ResponseWriter, code int, message string) {
	reason := metav1.StatusReasonInvalid
	if code == http.StatusNotFound {
		reason = metav1.StatusReasonNotFound
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	status := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(code), Reason: reason, Message: message}
	if err := json.NewEncoder(w).Encode(status); err != nil {
		panic(err)
	}
}

// apply merges as the API server does, with types that are deduced from the objects.
func apply(live, applied *unstructured.Unstructured, gvk schema.GroupVersionKind, manager string) (*unstructured.Unstructured, error) {
	fields, err := managedfields.NewDefaultFieldManager(managedfields.NewDeducedTypeConverter(), unconverted{}, unconverted{}, unconverted{}, gvk, gvk.GroupVersion(), "", nil)
	if err != nil {
		return nil, err
	}
	if live == nil {
		live = &unstructured.Unstructured{}
		live.SetGroupVersionKind(gvk)
		live.SetName(applied.GetName())
		live.SetNamespace(applied.GetNamespace())
	}
	merged, err := fields.Apply(live.DeepCopy(), applied, manager, true)
	if err != nil {
		return nil, err
	}
	return merged.(*unstructured.Unstructured), nil
}

// unconverted is a scheme of one version.
type unconverted struct{}

func (unconverted) Default(runtime.Object) {}
func (unconverted) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	return object, nil
}
func (unconverted) Convert(in, out, context any) error { return fmt.Errorf("nothing is converted") }
func (unconverted) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}
func (unconverted) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// merge is a JSON merge patch.
func merge(old, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	merged, ok := old.(map[string]any)
	if !ok {
		merged = map[string]any{}
	}
	for key, value := range changes {
		if value == nil {
			delete(merged, key)
			continue
		}
		merged[key] = merge(merged[key], value)
	}
	return merged
}

func same(a, b any) bool {
	left, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	right, err := json.Marshal(b)
	if err != nil {
		panic(err)
	}
	return string(left) == string(right)
}
