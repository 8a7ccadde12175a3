// Command crds collects the CustomResourceDefinitions of the projects whose objects the tree contains. They are in the projects' Go
// modules, which are downloaded and compared with the checksums below.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// modules are the modules, each with the checksum of its content.
var modules = map[string]string{
	"github.com/argoproj/argo-cd/v3@v3.5.1":                    "h1:jtwPLEFX9mNj3jSq88ugFcScGnOZVs2DWaXFuZxrRT8=",
	"github.com/fluxcd/helm-controller@v1.6.3":                 "h1:MSiDP/s8xRSkO3g11vBiDStxfmJ5ZVdwDEpW7BSE/UA=",
	"github.com/fluxcd/kustomize-controller@v1.9.4":            "h1:VBnBMhnemqnE5Zca2AoG2gC4472MoiTmk9rdqvLoMcY=",
	"github.com/fluxcd/source-controller@v1.9.4":               "h1:psO6g4NTAMl3GD9gL8TMF3shM939XhTjFvlQXCK3pZ4=",
	"github.com/k-orc/openstack-resource-controller/v2@v2.6.0": "h1:KKmdPiec2rzXv8NWWF01qQT6pIp4pILhDTnj45Nq7Uc=",
	"github.com/projectsveltos/addon-controller@v1.14.0":       "h1:2KPHO9z1I1v9bnR76sOcQ3p8xGwx2FLnMJnM155lx1U=",
	"sigs.k8s.io/cluster-api-addon-provider-helm@v0.6.4":       "h1:Hc2B7KrnDSJEYzau/SBkft55c72ulSl8j+fHpPtMLD4=",
	"sigs.k8s.io/cluster-api-provider-openstack@v0.14.7":       "h1:paxhYMaCVkoOBBL3IL02Su2x+/ocXOxqNgZ0AyG2KSI=",
	"sigs.k8s.io/cluster-api/test@v1.14.0":                     "h1:LYvJN8oM0vk6dv6ciceaCS0sAy62Lrf5IGsyNJ04g+U=",
	"sigs.k8s.io/cluster-api@v1.14.2":                          "h1:o3GFNaeNFAOEEMpDPfhCK+2CjmV6gtQ8yLEcUwCg7bA=",
}

// downloaded is what `go mod download -json` prints for a module.
type downloaded struct{ Path, Version, Dir, Sum, Error string }

func main() {
	log.SetFlags(0)
	out := flag.String("out", "", "the folder to write, which is replaced")
	flag.Parse()
	if *out == "" || flag.NArg() != 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*out); err != nil {
		log.Fatal(err)
	}
}

func run(out string) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	arguments := []string{"mod", "download", "-json"}
	for module := range modules {
		arguments = append(arguments, module)
	}
	download := exec.Command("go", arguments...)
	// Outside of any module, so that no go.sum changes.
	download.Dir = os.TempDir()
	download.Stderr = os.Stderr
	text, failed := download.Output()
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	for {
		var module downloaded
		if err := decoder.Decode(&module); errors.Is(err, io.EOF) {
			return failed
		} else if err != nil {
			return err
		}
		name := module.Path + "@" + module.Version
		if module.Error != "" {
			return fmt.Errorf("%s: %s", name, module.Error)
		}
		if module.Sum != modules[name] {
			return fmt.Errorf("%s has the checksum %s instead of %s", name, module.Sum, modules[name])
		}
		count, err := collect(module.Dir, filepath.Join(out, strings.ReplaceAll(module.Path, "/", "-")))
		if err != nil {
			return err
		}
		if count == 0 {
			return fmt.Errorf("%s contains no CustomResourceDefinition", name)
		}
		fmt.Printf("%s: %d definitions\n", name, count)
	}
}

// collect copies the definitions that a project publishes.
func collect(from, to string) (count int, err error) {
	err = filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".yaml" || entry.Name() == "kustomization.yaml" {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(file))
		if !strings.HasSuffix(folder, "/config/crd/bases") && !strings.HasSuffix(folder, "/manifests/crds") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		count++
		return os.WriteFile(target, text, 0o644)
	})
	return count, err
}
