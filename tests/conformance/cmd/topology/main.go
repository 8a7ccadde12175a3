// Topology makes up classes and Clusters and writes, one JSON document per line, what Cluster API's own code makes of them.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"sigs.k8s.io/cluster-api/feature"
	ctrl "sigs.k8s.io/controller-runtime"

	"stackloom.dev/conformance/internal/oracle"
	"stackloom.dev/conformance/internal/random"
)

type line struct {
	Seed   uint64 `json:"seed"`
	Number uint64 `json:"number"`
	random.Case
	Outcome oracle.Outcome `json:"outcome"`
}

func main() {
	ctrl.SetLogger(logr.Discard())
	flags := flag.NewFlagSet("topology", flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "what everything is drawn from")
	count := flags.Uint64("count", 300, "how many cases")
	out := flags.String("out", "", "`file` to write, one case per line")
	if err := flags.Parse(os.Args[1:]); err != nil || *out == "" || flags.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: topology -out FILE [-seed N] [-count N]")
		os.Exit(2)
	}
	if err := run(*seed, *count, *out); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(seed, count uint64, out string) error {
	if err := feature.MutableGates.Set("ClusterTopology=true,MachinePool=true"); err != nil {
		return err
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	defer file.Close()
	writer := bufio.NewWriter(file)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	refused, desired := 0, 0
	for number := range count {
		made := random.New(seed, number)
		outcome, err := oracle.Compute(context.Background(), made.Objects, made.Cluster)
		if err != nil {
			return fmt.Errorf("seed %d, case %d: %w", seed, number, err)
		}
		if len(outcome.Errors) > 0 {
			refused++
		}
		if outcome.Desired != nil {
			desired++
		}
		if err := encoder.Encode(line{seed, number, made, outcome}); err != nil {
			return err
		}
	}
	if desired == 0 || refused == 0 {
		return fmt.Errorf("of %d cases %d were refused and %d gave objects: there must be some of both", count, refused, desired)
	}
	fmt.Printf("%d cases: %d refused, %d with desired objects\n", count, refused, desired)
	if err := writer.Flush(); err != nil {
		return err
	}
	return file.Close()
}
