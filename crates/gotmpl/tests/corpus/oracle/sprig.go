package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const sprigModule = "github.com/Masterminds/sprig/v3"

// recorder is what sprig's tests call before they render a template: it writes the template and its data to a file.
const recorder = `
func recordCase(tpl string, vars interface{}) {
	data, err := json.Marshal(vars)
	if err != nil {
		return
	}
	line, _ := json.Marshal(map[string]json.RawMessage{"data": data, "template": json.RawMessage(quoted(tpl))})
	out, err := os.OpenFile(os.Getenv("SPRIG_CASES"), os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer out.Close()
	if _, err := out.Write(append(line, '\n')); err != nil {
		panic(err)
	}
}

func quoted(text string) []byte {
	data, _ := json.Marshal(text)
	return data
}
`

// sprigCases runs the tests of a copy of sprig that records each template and its data, and writes what this program makes of
// them.
func sprigCases(path string) error {
	where, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", sprigModule).Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	folder, err := os.MkdirTemp("", "sprig")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	recorded := filepath.Join(folder, "cases.jsonl")
	if err := os.WriteFile(recorded, nil, 0o644); err != nil {
		return err
	}
	modules, err := recording(strings.TrimSpace(string(where)), folder)
	if err != nil {
		return err
	}
	// Some of sprig's tests ask the network for a name, and fail where there is none. The record says what was rendered.
	test := exec.Command("go", "test", "-count=1", "-modfile", modules, sprigModule)
	test.Env = append(os.Environ(), "SPRIG_CASES="+recorded, "TZ=UTC")
	output, failed := test.CombinedOutput()
	text, err := os.ReadFile(recorded)
	if err != nil {
		return err
	}
	if len(text) == 0 {
		return fmt.Errorf("sprig's tests recorded nothing: %v\n%s", failed, output)
	}
	cases, err := judgedLines(text)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := write(&out, cases); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

// recording copies sprig with the recorder into the folder, and returns the path of a go.mod that uses the copy.
func recording(original, folder string) (string, error) {
	sprig := filepath.Join(folder, "sprig")
	if err := os.CopyFS(sprig, os.DirFS(original)); err != nil {
		return "", err
	}
	file := filepath.Join(sprig, "functions_test.go")
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	text := string(raw)
	for _, change := range [][2]string{
		{"import (\n", "\t\"encoding/json\"\n"},
		{"func runtv(tpl, expect string, vars interface{}) error {\n", "\trecordCase(tpl, vars)\n"},
		{"func runRaw(tpl string, vars interface{}) (string, error) {\n", "\trecordCase(tpl, vars)\n"},
	} {
		if strings.Count(text, change[0]) != 1 {
			return "", fmt.Errorf("%s is not as expected: it must have one %q", file, change[0])
		}
		text = strings.Replace(text, change[0], change[0]+change[1], 1)
	}
	if err := os.Remove(file); err != nil {
		return "", err
	}
	if err := os.WriteFile(file, []byte(text+recorder), 0o644); err != nil {
		return "", err
	}
	modules := filepath.Join(folder, "go.mod")
	for _, name := range []string{"go.mod", "go.sum"} {
		raw, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		if name == "go.mod" {
			raw = fmt.Appendf(raw, "\nreplace %s => %s\n", sprigModule, sprig)
		}
		if err := os.WriteFile(filepath.Join(folder, name), raw, 0o644); err != nil {
			return "", err
		}
	}
	return modules, nil
}

// judgedLines reads one case per line, leaves out those that were there before, and judges each.
func judgedLines(text []byte) ([]Case, error) {
	var cases []Case
	seen := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if seen[line] {
			continue
		}
		seen[line] = true
		var c Case
		var data any
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			return nil, err
		}
		if c.Data != nil {
			if err := json.Unmarshal(*c.Data, &data); err != nil {
				return nil, err
			}
		}
		judge(&c, data)
		cases = append(cases, c)
	}
	return cases, nil
}
