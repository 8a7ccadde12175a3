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
	// Created is what is refused of the desired objects when they are created.
	Created []files.Creation `json:"created"`
}

type fileLine struct {
	File string `json:"file"`
	files.Case
	Outcome oracle.Outcome   `json:"outcome"`
	Created []files.Creation `json:"created"`
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
		err = read(flags.Args(), *crds, *gates, *out)
	default:
		err = run(*seed, *count, *gates, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// reader has the schemas of Cluster API's kinds, and of those in a folder.
func reader(crds string) (files.Reader, error) {
	folders, err := module.Definitions()
	if err != nil {
		return files.Reader{}, err
	}
	if crds != "" {
		folders = append(folders, crds)
	}
	catalog, err := schemas.Load(folders...)
	return files.Reader{Schemas: catalog}, err
}

func run(seed, count uint64, gates, out string) error {
	reader, err := reader("")
	if err != nil {
		return err
	}
	file, err := lines.Create(out)
	if err != nil {
		return err
	}
	refused, desired, stopped := 0, 0, 0
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
		created, err := reader.Created(context.Background(), outcome.Desired, gates)
		if err != nil {
			return fmt.Errorf("seed %d, case %d: %w", seed, number, err)
		}
		if len(created) > 0 {
			stopped++
		}
		if err := file.Write(line{seed, number, made, outcome, created}); err != nil {
			return err
		}
	}
	if desired == 0 || refused == 0 {
		return fmt.Errorf("of %d cases %d were refused and %d gave objects: there must be some of both", count, refused, desired)
	}
	fmt.Printf("%d cases: %d refused, %d with desired objects, %d of these with objects that cannot be created\n", count, refused, desired, stopped)
	return file.Close()
}

// read judges the Clusters of files. A file that cannot be judged is told, and the others go on.
func read(names []string, crds, gates, out string) error {
	reader, err := reader(crds)
	if err != nil {
		return err
	}
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
				outcome, err = oracle.Compute(context.Background(), c.Objects, c.Cluster, reader.Schemas.Labels())
			}
			var created []files.Creation
			if err == nil {
				created, err = reader.Created(context.Background(), outcome.Desired, gates)
			}
			if err != nil {
				fmt.Fprintf(os.Stderr, "error: %s: %v\n", name, err)
				failed++
				continue
			}
			if err := file.Write(fileLine{name, c, outcome, created}); err != nil {
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
