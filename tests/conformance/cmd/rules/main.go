// Rules has Kubernetes' own code, as Cluster API's webhooks call it, judge CEL rules of variables: each line of the input is a
// schema (or the name of a type), a value and a rule, and is written with the answer in front. An answer that a line already
// has is replaced; what stands behind its slash stays.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"sigs.k8s.io/cluster-api/feature"
	ctrl "sigs.k8s.io/controller-runtime"

	"stackloom.dev/conformance/internal/oracle"
)

func main() {
	ctrl.SetLogger(logr.Discard())
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "usage: rules <RULES.tsv >ANSWERS.tsv")
		os.Exit(2)
	}
	err := feature.MutableGates.Set("ClusterTopology=true")
	if err == nil {
		err = run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	for number := 1; in.Scan(); number++ {
		columns := strings.Split(in.Text(), "\t")
		kept := ""
		if len(columns) == 4 {
			if _, said, found := strings.Cut(columns[0], "/"); found {
				kept = "/" + said
			}
			columns = columns[1:]
		}
		if len(columns) != 3 {
			return fmt.Errorf("line %d: %d columns", number, len(columns))
		}
		answer, err := judge(columns[0], columns[1], columns[2])
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		fmt.Fprintf(out, "%s%s\t%s\n", answer, kept, strings.Join(columns, "\t"))
	}
	if err := in.Err(); err != nil {
		return err
	}
	return out.Flush()
}

// judge says whether the class is refused, or a Cluster with the value, or neither.
func judge(words, text, rule string) (string, error) {
	schema := map[string]any{"type": words}
	if strings.HasPrefix(words, "{") {
		if err := json.Unmarshal([]byte(words), &schema); err != nil {
			return "", err
		}
	} else if words == "string" {
		schema["maxLength"] = 40
	}
	schema["x-kubernetes-validations"] = []any{map[string]any{"rule": rule}}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return "", err
	}
	// At the root of a variable no rule of a list is taken.
	if schema["type"] == "array" {
		schema = map[string]any{"type": "object", "properties": map[string]any{"l": schema}}
		value = map[string]any{"l": value}
	}
	outcome, err := oracle.Compute(context.Background(), []map[string]any{class(schema)}, cluster(value), nil)
	if err != nil {
		return "", err
	}
	for _, refused := range outcome.Errors {
		if refused.Stage != "desired" {
			return refused.Stage, nil
		}
	}
	return "holds", nil
}

func class(schema map[string]any) map[string]any {
	ref := func(group, kind string) map[string]any {
		return map[string]any{"templateRef": map[string]any{"apiVersion": group + ".cluster.x-k8s.io/v1beta2", "kind": kind, "name": "c"}}
	}
	return map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass", "metadata": map[string]any{"name": "c"},
		"spec": map[string]any{
			"infrastructure": ref("infrastructure", "AcmeClusterTemplate"),
			"controlPlane":   ref("controlplane", "AcmeControlPlaneTemplate"),
			"variables": []any{map[string]any{
				"name": "v", "required": false, "schema": map[string]any{"openAPIV3Schema": schema},
			}},
		},
	}
}

func cluster(value any) map[string]any {
	return map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": map[string]any{"name": "demo"},
		"spec": map[string]any{"topology": map[string]any{
			"classRef": map[string]any{"name": "c"}, "version": "v1.33.1",
			"variables": []any{map[string]any{"name": "v", "value": value}},
		}},
	}
}
