package main

import (
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// standIn stands for what a chart renders: what decides about it, in one object.
func standIn(app *argo.Application) ([]*unstructured.Unstructured, error) {
	source := app.Spec.GetSource()
	return []*unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": source.Helm.ReleaseName, "namespace": app.Spec.Destination.Namespace},
		"data":     map[string]any{"chart": source.Chart, "version": source.TargetRevision},
	}}}, nil
}
