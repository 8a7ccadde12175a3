package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const sprigModule = "github.com/Masterminds/sprig/v3"

// recorder is a file of the copy. Sprig's tests call recordCase before they render a template, and the functions that the tests
// call from Go call recordCall: both write a template and its data to a file.
const recorder = `package sprig

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
)

func recordCall(name string, args ...interface{}) {
	call := []string{name}
	for _, arg := range args {
		text, ok := literals(reflect.ValueOf(arg))
		if !ok {
			return
		}
		call = append(call, text...)
	}
	recordCase("{{"+strings.Join(call, " ")+"}}", nil)
}

func literals(arg reflect.Value) (found []string, ok bool) {
	switch arg.Kind() {
	case reflect.String:
		return []string{strconv.Quote(arg.String())}, true
	case reflect.Float32, reflect.Float64:
		text := strconv.FormatFloat(arg.Float(), 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return []string{text}, true
	case reflect.Slice:
		for i := 0; i < arg.Len(); i++ {
			text, ok := literals(arg.Index(i))
			if !ok {
				return nil, false
			}
			found = append(found, text...)
		}
		return found, true
	}
	if arg.IsValid() && (arg.CanInt() || arg.CanUint() || arg.Kind() == reflect.Bool) {
		return []string{fmt.Sprint(arg.Interface())}, true
	}
	return nil, false
}

func recordCase(tpl string, vars interface{}) {
	data, err := json.Marshal(vars)
	if err != nil {
		return
	}
	template, _ := json.Marshal(tpl)
	line, _ := json.Marshal(map[string]json.RawMessage{"data": data, "template": template})
	out, err := os.OpenFile(os.Getenv("SPRIG_CASES"), os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer out.Close()
	if _, err := fmt.Fprintln(out, string(line)); err != nil {
		panic(err)
	}
}
`

// renders are lines of sprig's tests, by file. After each of them, the template in `tpl` is recorded.
var renders = map[string][]string{
	"functions_test.go": {
		"func runtv(tpl, expect string, vars interface{}) error {\n",
		"func runRaw(tpl string, vars interface{}) (string, error) {\n",
	},
	"example_test.go": {"\ttpl := `Hello {{.Name | trim | lower}}`\n"},
}

// calls are the functions that sprig's tests call from Go, by the names that they have in templates.
var calls = map[string]string{
	"ceil": "ceil", "floor": "floor", "round": "round",
	"toDecimal": "toDecimal", "toFloat64": "float64", "toInt": "int", "toInt64": "int64",
	"regexFind": "regexFind", "mustRegexFind": "mustRegexFind",
	"regexFindAll": "regexFindAll", "mustRegexFindAll": "mustRegexFindAll",
	"regexMatch": "regexMatch", "mustRegexMatch": "mustRegexMatch",
	"regexReplaceAll": "regexReplaceAll", "mustRegexReplaceAll": "mustRegexReplaceAll",
	"regexReplaceAllLiteral": "regexReplaceAllLiteral", "mustRegexReplaceAllLiteral": "mustRegexReplaceAllLiteral",
	"regexSplit": "regexSplit", "mustRegexSplit": "mustRegexSplit",
}

// others have the parameters of the function that sprig's tests call. The templates of that one are rendered with them, too.
var others = map[string]string{
	"fromJson": "mustFromJson", "toJson": "mustToJson", "toPrettyJson": "mustToPrettyJson", "toRawJson": "mustToRawJson",
	"merge": "mustMerge", "mergeOverwrite": "mustMergeOverwrite",
	"append": "push", "trimAll": "trimall", "toDate": "mustToDate",
}

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
	if err := os.WriteFile(filepath.Join(sprig, "recorder.go"), []byte(recorder), 0o644); err != nil {
		return "", err
	}
	for name, lines := range renders {
		err := edited(filepath.Join(sprig, name), func(text string) (string, error) {
			for _, line := range lines {
				if strings.Count(text, line) != 1 {
					return "", fmt.Errorf("%s is not as expected: it must have one %q", name, line)
				}
				text = strings.Replace(text, line, line+"\trecordCase(tpl, vars)\n", 1)
			}
			return text, nil
		})
		if err != nil {
			return "", err
		}
	}
	for _, name := range []string{"numeric.go", "regex.go"} {
		if err := edited(filepath.Join(sprig, name), withCalls); err != nil {
			return "", err
		}
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

// edited replaces the text of a file. The copy of a module is read-only.
func edited(path string, edit func(string) (string, error)) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := edit(string(raw))
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// withCalls lets the functions of a file record their calls.
func withCalls(text string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	// From the end, so that the positions before stay as they are.
	for _, decl := range slices.Backward(file.Decls) {
		function, ok := decl.(*ast.FuncDecl)
		if !ok || calls[function.Name.Name] == "" {
			continue
		}
		call := strconv.Quote(calls[function.Name.Name])
		for _, field := range function.Type.Params.List {
			for _, name := range field.Names {
				call += ", " + name.Name
			}
		}
		at := int(function.Body.Lbrace)
		text = text[:at] + "recordCall(" + call + ");" + text[at:]
	}
	return text, nil
}

// variants are a template and those that call another function with the same parameters instead. They end before `date`, which
// templates of patches cannot call.
func variants(template string) []string {
	if before, _, found := strings.Cut(template, " | date "); found {
		template = before + "}}"
	}
	all := []string{template}
	for name, other := range others {
		word := regexp.MustCompile(`\b` + name + `\b`)
		if word.MatchString(template) {
			all = append(all, word.ReplaceAllString(template, other))
		}
	}
	slices.Sort(all[1:])
	return all
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
		for _, template := range variants(*c.Template) {
			one := Case{Template: &template, Data: c.Data}
			judge(&one, data)
			cases = append(cases, one)
		}
	}
	return cases, nil
}
