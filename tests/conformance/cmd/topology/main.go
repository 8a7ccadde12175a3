// Topology makes up classes and Clusters, or reads them from files, and writes, one JSON document per line, what Cluster API's
// own code makes of them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"sigs.k8s.io/cluster-api/feature"
	ctrl "sigs.k8s.io/controller-runtime"

	"stackloom.dev/conformance/internal/files"
	"stackloom.dev/conformance/internal/lines"
	"stackloom.dev/conformance/internal/module"
	"stackloom.dev/conformance/internal/oracle"
	"stackloom.dev/conformance/internal/random"
	"stackloom.dev/conformance/internal/schemas"
)

type line struct {
	Seed   uint64 `json:"seed"`
	Number uint64 `json:"number"`
	random.Case
	Outcome oracle.Outcome `json:"outcome"`
}

type fileLine struct {
	File string `json:"file"`
	files.Case
	Outcome oracle.Outcome `json:"outcome"`
}

func main() {
	ctrl.SetLogger(logr.Discard())
	flags := flag.NewFlagSet("topology", flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "what everything is drawn from")
	count := flags.Uint64("count", 300, "how many cases")
	out := flags.String("out", "", "`file` to write, one case per line")
	gates := flags.String("feature-gates", "ClusterTopology=true,MachinePool=true", "Cluster API's `gates`")
	crds := flags.String("crds", "", "`folder` of more CustomResourceDefinitions than Cluster API's own, for files: those of control planes")
	if err := flags.Parse(os.Args[1:]); err != nil || *out == "" {
		fmt.Fprintln(os.Stderr, "usage: topology -out FILE [-feature-gates GATES] [-seed N] [-count N] | [-crds DIR] CASE.yaml…")
		os.Exit(2)
	}
	err := feature.MutableGates.Set(*gates)
	switch {
	case err != nil:
	case flags.NArg() > 0:
		err = read(flags.Args(), *crds, *out)
	default:
		err = run(*seed, *count, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(seed, count uint64, out string) error {
	file, err := lines.Create(out)
	if err != nil {
		return err
	}
	refused, desired := 0, 0
	for number := range count {
		made := random.New(seed, number)
		outcome, err := oracle.Compute(context.Background(), made.Objects, made.Cluster, nil)
		if err != nil {
			return fmt.Errorf("seed %d, case %d: %w", seed, number, err)
		}
		if len(outcome.Errors) > 0 {
			refused++
		}
		if outcome.Desired != nil {
			desired++
		}
		if err := file.Write(line{seed, number, made, outcome}); err != nil {
			return err
		}
	}
	if desired == 0 || refused == 0 {
		return fmt.Errorf("of %d cases %d were refused and %d gave objects: there must be some of both", count, refused, desired)
	}
	fmt.Printf("%d cases: %d refused, %d with desired objects\n", count, refused, desired)
	return file.Close()
}

// read judges the Clusters of files. A file that cannot be judged is told, and the others go on.
func read(names []string, crds, out string) error {
	folders, err := module.Definitions()
	if err != nil {
		return err
	}
	if crds != "" {
		folders = append(folders, crds)
	}
	catalog, err := schemas.Load(folders...)
	if err != nil {
		return err
	}
	reader := files.Reader{Schemas: catalog}
	file, err := lines.Create(out)
	if err != nil {
		return err
	}
	written, failed := 0, 0
	for _, name := range names {
		cases, err := reader.Read(context.Background(), name)
		if err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			failed++
			continue
		}
		for _, c := range cases {
			outcome := oracle.Outcome{Errors: c.Refused}
			if len(c.Refused) == 0 {
				outcome, err = oracle.Compute(context.Background(), c.Objects, c.Cluster, catalog.Labels())
			}
			if err != nil {
				fmt.Fprintf(os.Stderr, "error: %s: %v\n", name, err)
				failed++
				continue
			}
			if err := file.Write(fileLine{name, c, outcome}); err != nil {
				return err
			}
			written++
		}
	}
	fmt.Printf("%d cases of %d files\n", written, len(names))
	if failed > 0 {
		return fmt.Errorf("%d could not be judged", failed)
	}
	return file.Close()
}
