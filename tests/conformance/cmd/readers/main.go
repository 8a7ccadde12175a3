// Readers reads what Stackloom generated with the libraries, types, schemas and webhooks of the projects that it is for.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"stackloom.dev/conformance/internal/apitypes"
	"stackloom.dev/conformance/internal/cross"
	"stackloom.dev/conformance/internal/hazards"
	"stackloom.dev/conformance/internal/health"
	"stackloom.dev/conformance/internal/report"
	"stackloom.dev/conformance/internal/schemas"
	"stackloom.dev/conformance/internal/topology"
	"stackloom.dev/conformance/internal/tree"
)

type options struct {
	generated, root, crds, gates, hazards, fuzz string
}

// defaultGates are what a management cluster for classes has at least.
const defaultGates = "ClusterTopology=true,MachinePool=true"

func main() {
	ctrl.SetLogger(logr.Discard())
	o, ok := parse(os.Args[1:])
	if !ok {
		os.Exit(2)
	}
	r := report.New()
	if err := run(context.Background(), o, r); err != nil {
		r.Fail("readers", "setup", "%v", err)
	}
	r.Print(os.Stdout, os.Stderr)
	if r.Failed() {
		os.Exit(1)
	}
}

// parse has flags of its own, since the libraries add theirs to the common ones.
func parse(args []string) (options, bool) {
	var o options
	flags := flag.NewFlagSet("readers", flag.ContinueOnError)
	flags.StringVar(&o.generated, "generated", "", "`folder` of the generated tree")
	flags.StringVar(&o.root, "root", "", "`folder` of the repository, to which the paths of Kustomizations are relative (default: the parent of -generated)")
	flags.StringVar(&o.crds, "crds", "", "`folder` of CustomResourceDefinitions; without it nothing is validated against schemas")
	flags.StringVar(&o.gates, "feature-gates", defaultGates, "Cluster API's feature `gates` in the management clusters")
	flags.StringVar(&o.hazards, "hazards", "", "emitted `file.yaml` of hazardous strings; the strings due stand beside it in file.json")
	flags.StringVar(&o.fuzz, "fuzz-in", "", "the same for many random strings, as `file.yaml` with file.json beside it")
	if err := flags.Parse(args); err != nil {
		return o, false
	}
	if flags.NArg() > 0 || o.generated == "" && o.hazards == "" && o.fuzz == "" {
		fmt.Fprintln(os.Stderr, "usage: readers [-generated DIR [-root DIR] [-crds DIR] [-feature-gates GATES]] [-hazards FILE.yaml] [-fuzz-in FILE.yaml]")
		flags.PrintDefaults()
		return o, false
	}
	return o, true
}

func run(ctx context.Context, o options, r *report.Report) error {
	if o.generated != "" {
		if err := checkTree(ctx, o, r); err != nil {
			return err
		}
	}
	if o.hazards != "" {
		hazards.Check(o.hazards, "hazards", r)
	}
	if o.fuzz != "" {
		hazards.Check(o.fuzz, "fuzzed strings", r)
	}
	return nil
}

func checkTree(ctx context.Context, o options, r *report.Report) error {
	generated, err := filepath.Abs(o.generated)
	if err != nil {
		return err
	}
	root := filepath.Dir(generated)
	if o.root != "" {
		if root, err = filepath.Abs(o.root); err != nil {
			return err
		}
	}
	scheme, err := apitypes.Scheme()
	if err != nil {
		return err
	}
	types := apitypes.NewDecoder(scheme)
	t := tree.Load(generated, root, r)
	apitypes.Check(t, types, r)
	var catalog *schemas.Catalog
	if o.crds == "" {
		r.Note("SKIPPED validation against CRD schemas: no -crds given")
	} else {
		if catalog, err = schemas.Load(o.crds); err != nil {
			return err
		}
		schemas.Check(ctx, t, catalog, types, r)
	}
	health.Check(ctx, t, r)
	cross.Check(t, r)
	checker := topology.Checker{Tree: t, Types: types, Schemas: catalog, Gates: o.gates, Report: r}
	return checker.Check(ctx)
}
