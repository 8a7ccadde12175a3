package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	resourceutil "github.com/argoproj/argo-cd/gitops-engine/pkg/sync/resource"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// finalize deletes what an Application applied, where it has the finalizer for that, and lets the Application go.
func (a *applier) finalize(ctx context.Context, app *argo.Application, object *unstructured.Unstructured, where *target) (string, error) {
	at := slices.IndexFunc(app.Finalizers, func(one string) bool { return one == cascade || strings.HasPrefix(one, cascade+"/") })
	if at < 0 {
		return "", nil
	}
	// Without its project, Argo CD deletes nothing of an Application, and the Application stays.
	project, err := a.hub.get(ctx, projectKind, a.namespace, app.Spec.Project)
	if err != nil || project == nil {
		return "", err
	}
	left := 0
	if where != nil {
		found, err := a.compare(ctx, app, where, nil)
		if err != nil {
			return "", err
		}
		for _, live := range found.is.Live {
			if kept(app, live, common.SyncOptionDelete) || live.GetUID() == app.UID || live.GetKind() == "CustomResourceDefinition" {
				continue
			}
			left++
			if live.GetDeletionTimestamp() == nil {
				background := metav1.DeletePropagationBackground
				if err := newKubectl(where).DeleteResource(ctx, where.config, live.GroupVersionKind(), live.GetName(), live.GetNamespace(), metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
					return "", err
				}
			}
		}
	}
	if left > 0 {
		return fmt.Sprintf("deletion, %d objects left", left), nil
	}
	rest, err := json.Marshal(slices.Delete(app.Finalizers, at, at+1))
	if err != nil {
		return "", err
	}
	return "gone", a.hub.patch(ctx, object, fmt.Sprintf(`{"metadata":{"finalizers":%s}}`, rest))
}

// report writes the state of an Application, as its health script reads it.
func (a *applier) report(ctx context.Context, app *argo.Application, object *unstructured.Unstructured, found *comparison, condition, message string) error {
	status := map[string]any{"sync": map[string]any{"status": "Unknown"}, "health": map[string]any{"status": "Unknown"}, "conditions": nil}
	if condition != "" {
		// Argo CD keeps the time since when a condition has been there.
		since := metav1.Now()
		for _, one := range app.Status.Conditions {
			if one.Type == condition && one.LastTransitionTime != nil {
				since = *one.LastTransitionTime
			}
		}
		status["conditions"] = []any{map[string]any{"type": condition, "message": message, "lastTransitionTime": since}}
	}
	if found != nil {
		code := "OutOfSync"
		if found.synced {
			code = "Synced"
		}
		status["sync"] = map[string]any{"status": code, "revision": a.revision}
		status["health"] = map[string]any{"status": found.health.Status, "message": found.health.Message}
	}
	last, ok := a.last[app.Name]
	if op := a.running[app.Name]; op != nil {
		ok, last = true, attempt{op.revision, common.OperationRunning, op.message, last.retries, op.started}
	}
	if ok {
		status["operationState"] = map[string]any{
			"operation": map[string]any{"sync": map[string]any{"revision": last.revision}}, "startedAt": last.started,
			"phase": last.phase, "message": last.message, "retryCount": last.retries,
		}
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	before, _, _ := unstructured.NestedString(object.Object, "status", "health", "status")
	if after := status["health"].(map[string]any)["status"]; before != fmt.Sprint(after) {
		a.changed = true
	}
	return a.hub.patch(ctx, object, string(patch))
}

func tracked(app *argo.Application, object *unstructured.Unstructured) string {
	gvk := object.GroupVersionKind()
	return fmt.Sprintf("%s:%s/%s:%s/%s", app.Name, gvk.Group, gvk.Kind, object.GetNamespace(), object.GetName())
}

// kept tells whether an object has, or its Application gives it, an option with the value false.
func kept(app *argo.Application, object *unstructured.Unstructured, option string) bool {
	value := resourceutil.GetAnnotationOptionValue(object, common.AnnotationSyncOptions, option)
	if value == nil && app.Spec.SyncPolicy != nil {
		value = app.Spec.SyncPolicy.SyncOptions.GetOptionValue(option)
	}
	return value != nil && *value == common.SyncValueFalse
}

func encode(object *unstructured.Unstructured) []byte {
	if object == nil {
		return []byte("null")
	}
	text, err := json.Marshal(object.Object)
	if err != nil {
		panic(err)
	}
	return text
}

// equal compares two states of an object, without what the API server counts, and without the status, which Argo CD ignores by default:
// a controller may write it between the two.
func equal(a, b *unstructured.Unstructured) bool {
	strip := func(object *unstructured.Unstructured) string {
		object = object.DeepCopy()
		unstructured.RemoveNestedField(object.Object, "status")
		for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
			unstructured.RemoveNestedField(object.Object, "metadata", field)
		}
		return string(encode(object))
	}
	return strip(a) == strip(b)
}
