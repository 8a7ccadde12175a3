// Plans makes up a fleet, has Stackloom plan its upgrades and take all of their steps, and puts each step to Cluster API's own
// webhooks.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"stackloom.dev/conformance/internal/plans"
	"stackloom.dev/conformance/internal/report"
)

func main() {
	ctrl.SetLogger(logr.Discard())
	flags := flag.NewFlagSet("plans", flag.ContinueOnError)
	program := flags.String("program", "", "the `binary` of stackloom")
	root := flags.String("root", "", "`folder` of the repository, whose stacks and releases are used")
	seed := flags.Uint64("seed", 1, "what the clusters are drawn from")
	count := flags.Int("count", 64, "how many clusters")
	if err := flags.Parse(os.Args[1:]); err != nil || *program == "" || *root == "" || flags.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: plans -program FILE -root DIR [-seed N] [-count N]")
		os.Exit(2)
	}
	r := report.New()
	r.Name = "plans"
	if err := plans.Check(context.Background(), plans.Options{Program: *program, Root: *root, Seed: *seed, Count: *count}, r); err != nil {
		r.Fail("plans", "setup", "%v", err)
	}
	r.Print(os.Stdout, os.Stderr)
	if r.Failed() {
		os.Exit(1)
	}
}
