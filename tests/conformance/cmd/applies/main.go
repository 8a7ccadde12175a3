// Applies makes up objects that one manager applies over one another, and writes, one JSON document per line, what the API
// server's own code makes of each.
package main

import (
	"flag"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"

	"stackloom.dev/conformance/internal/lines"
	"stackloom.dev/conformance/internal/module"
	"stackloom.dev/conformance/internal/random"
	"stackloom.dev/conformance/internal/schemas"
)

// line is one apply over what is live.
type line struct {
	Seed     uint64         `json:"seed"`
	Number   uint64         `json:"number"`
	Step     int            `json:"step"`
	Live     map[string]any `json:"live"`
	Previous map[string]any `json:"previous"`
	Applied  map[string]any `json:"applied"`
	After    map[string]any `json:"after"`
}

const steps = 4

// engine is who applies.
const engine = "engine"

func main() {
	flags := flag.NewFlagSet("applies", flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "what everything is drawn from")
	count := flags.Uint64("count", 300, "how many objects")
	out := flags.String("out", "", "`file` to write, one apply per line")
	if err := flags.Parse(os.Args[1:]); err != nil || *out == "" || flags.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: applies -out FILE [-seed N] [-count N]")
		os.Exit(2)
	}
	if err := run(*seed, *count, *out); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(seed, count uint64, out string) error {
	folders, err := module.Definitions()
	if err != nil {
		return err
	}
	catalog, err := schemas.Load(folders...)
	if err != nil {
		return err
	}
	file, err := lines.Create(out)
	if err != nil {
		return err
	}
	applied, refused := 0, 0
	for number := range count {
		made, failed, err := applies(catalog, seed, number)
		if err != nil {
			return fmt.Errorf("seed %d, object %d: %w", seed, number, err)
		}
		applied, refused = applied+len(made), refused+failed
		for _, one := range made {
			if err := file.Write(one); err != nil {
				return err
			}
		}
	}
	if applied == 0 {
		return fmt.Errorf("nothing was applied over anything")
	}
	fmt.Printf("%d applies, %d refused\n", applied, refused)
	return file.Close()
}

// applies gives each apply over a live object that is taken, and how many are refused.
func applies(catalog *schemas.Catalog, seed, number uint64) (made []line, refused int, err error) {
	source := random.NewApplies(seed, number)
	object, err := source.Next()
	if err != nil {
		return nil, 0, err
	}
	first := &unstructured.Unstructured{Object: object}
	gvk := first.GroupVersionKind()
	converter, err := catalog.Converter(gvk)
	if err != nil {
		return nil, 0, err
	}
	manager := managedfieldstest.NewFakeFieldManager(converter, gvk)
	live := &unstructured.Unstructured{Object: map[string]any{}}
	live.SetGroupVersionKind(gvk)
	live.SetName(first.GetName())
	var previous map[string]any
	for step := range steps {
		next := first
		if step > 0 {
			if object, err = source.Next(); err != nil {
				return nil, 0, err
			}
			next = &unstructured.Unstructured{Object: object}
		}
		after, err := manager.Apply(live.DeepCopy(), next.DeepCopy(), engine, true)
		if err != nil {
			refused++
			continue
		}
		result := after.(*unstructured.Unstructured)
		if !isOfOne(result) {
			// An apply that owns nothing leaves no trace of its manager. What is there goes to a manager of its own with the
			// next apply, and what two managers own is not compared here.
			break
		}
		if previous != nil {
			made = append(made, line{seed, number, step, plain(live), previous, next.Object, plain(result)})
		}
		live, previous = result, next.Object
		source.Fill(live.Object)
	}
	return made, refused, nil
}

// isOfOne says whether nobody but the one who applies owns anything.
func isOfOne(o *unstructured.Unstructured) bool {
	for _, entry := range o.GetManagedFields() {
		if entry.Manager != engine {
			return false
		}
	}
	return true
}

// plain is an object without what managers own of it.
func plain(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	o.SetManagedFields(nil)
	return o.Object
}
