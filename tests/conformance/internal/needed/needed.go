// Package needed gives tests the folders that they need from the environment.
package needed

import (
	"os"
	"testing"
)

// Folder returns the folder in a variable that `.ci/run` sets. Without it, the test is skipped; if CI is set, it fails.
func Folder(t testing.TB, variable string) string {
	t.Helper()
	folder := os.Getenv(variable)
	if folder == "" && os.Getenv("CI") != "" {
		t.Fatalf("%s is not set: `.ci/run conformance` sets it", variable)
	}
	if folder == "" {
		t.Skipf("%s is not set: `.ci/run conformance` sets it", variable)
	}
	return folder
}
