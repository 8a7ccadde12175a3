// Fluxpull takes an artifact from a registry with the client that Flux' source-controller and its command line use, puts
// the folder where it is told, and prints what Flux reads of the manifest's annotations.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/fluxcd/pkg/oci"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: fluxpull REGISTRY/PATH@DIGEST FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(address, folder string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	found, err := oci.NewClient(oci.DefaultOptions()).Pull(ctx, address, folder, oci.WithPullLayerType(oci.LayerTypeTarball))
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}
