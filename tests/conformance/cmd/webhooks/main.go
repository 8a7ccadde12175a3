// Webhooks makes up objects that Cluster API's topology controller writes, and changes of them, or reads such pairs, and
// writes, one JSON document per line, what Cluster API's own webhooks refuse of them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"stackloom.dev/conformance/internal/lines"
	"stackloom.dev/conformance/internal/oracle"
	"stackloom.dev/conformance/internal/random"
)

type line struct {
	Seed   uint64 `json:"seed"`
	Number uint64 `json:"number"`
	random.Pair
	Errors []oracle.Refusal `json:"errors"`
}

func main() {
	ctrl.SetLogger(logr.Discard())
	flags := flag.NewFlagSet("webhooks", flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "what everything is drawn from")
	count := flags.Uint64("count", 3000, "how many pairs")
	in := flags.String("in", "", "`file` of pairs, one per line, to judge instead of random ones")
	out := flags.String("out", "", "`file` to write, one pair per line")
	if err := flags.Parse(os.Args[1:]); err != nil || *out == "" || flags.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: webhooks -out FILE [-seed N] [-count N] | [-in FILE]")
		os.Exit(2)
	}
	next := func(number uint64) (random.Pair, error) {
		if number == *count {
			return random.Pair{}, io.EOF
		}
		return random.NewPair(*seed, number), nil
	}
	if *in != "" {
		file, err := os.Open(*in)
		if err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		defer file.Close()
		decoder := json.NewDecoder(file)
		next = func(uint64) (pair random.Pair, err error) { return pair, decoder.Decode(&pair) }
	}
	if err := run(*seed, next, *in == "", *out); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(seed uint64, next func(uint64) (random.Pair, error), drawn bool, out string) error {
	file, err := lines.Create(out)
	if err != nil {
		return err
	}
	all, refused := 0, 0
	for number := uint64(0); ; number++ {
		pair, err := next(number)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("pair %d: %w", number, err)
		}
		told, err := oracle.Written(context.Background(), pair)
		if drawn && errors.Is(err, oracle.ErrNeverStood) {
			continue
		}
		if err != nil {
			return fmt.Errorf("seed %d, pair %d: %w", seed, number, err)
		}
		all++
		if len(told) > 0 {
			refused++
		}
		if err := file.Write(line{seed, number, pair, told}); err != nil {
			return err
		}
	}
	if drawn && (refused == 0 || refused == all) {
		return fmt.Errorf("of %d pairs %d were refused: there must be some of both", all, refused)
	}
	fmt.Printf("%d pairs: %d refused\n", all, refused)
	return file.Close()
}
