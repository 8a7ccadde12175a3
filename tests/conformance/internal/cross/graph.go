package cross

import (
	"sort"
	"strings"

	"stackloom.dev/conformance/internal/report"
	"stackloom.dev/conformance/internal/tree"
)

// reportCycles fails each dependency that leads back to where it started; such objects wait for each other for ever.
func reportCycles(kind string, edges map[string][]string, files map[string]string, r *report.Report) {
	const visiting, done = 1, 2
	state := map[string]int{}
	var trail []string
	var visit func(string)
	visit = func(id string) {
		switch state[id] {
		case done:
			return
		case visiting:
			r.Fail(files[id], "cross", "%ss wait for each other: %s", kind, strings.Join(append(trail, id), " -> "))
			return
		}
		state[id] = visiting
		trail = append(trail, id)
		for _, next := range edges[id] {
			visit(next)
		}
		trail = trail[:len(trail)-1]
		state[id] = done
	}
	var ids []string
	for id := range edges {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	for _, id := range ids {
		visit(id)
	}
}

// checkClass requires every template of a class in the folder of the same release.
func checkClass(t *tree.Tree, f tree.File, r *report.Report) {
	folder := strings.Join(strings.Split(f.Path, "/")[:3], "/")
	present := map[string]bool{}
	for _, other := range t.Below(folder) {
		present[other.Kind()+" "+other.Object.GetName()] = true
	}
	spec, _ := f.Object.Object["spec"].(map[string]any)
	n := 0
	for _, part := range []string{"infrastructure", "controlPlane", "workers"} {
		for _, ref := range templateRefs(spec[part]) {
			n++
			id := text(ref["apiVersion"]) + "/" + text(ref["kind"]) + " " + text(ref["name"])
			if !present[id] {
				r.Fail(f.Path, "cross", "refers to %s, which the release does not hold", id)
			}
		}
	}
	if n == 0 {
		r.Fail(f.Path, "cross", "refers to no template")
	}
}

// templateRefs finds the references at any depth.
func templateRefs(v any) []map[string]any {
	var refs []map[string]any
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if ref, ok := inner.(map[string]any); ok && key == "templateRef" {
				refs = append(refs, ref)
				continue
			}
			refs = append(refs, templateRefs(inner)...)
		}
	case []any:
		for _, inner := range v {
			refs = append(refs, templateRefs(inner)...)
		}
	}
	return refs
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
