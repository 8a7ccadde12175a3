// Program oracle renders templates and reads YAML with the packages that Cluster API uses, and writes down what they do.
//
//	oracle eval < inputs.json > results.json
//	oracle corpus <folder>
//	oracle sprig <file>
//
// eval takes a list of {"template": …, "data": …} and {"yaml": …} and adds "output" or "json", or "error", to each.
// corpus reads templates.txt, yaml.txt and data.json of the folder, adds the combinations of combine.go,
// and writes templates.json and yaml.json there. sprig runs sprig's own tests, and writes their templates and data to the
// file, each with its result. It runs `go` in the folder of this program.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"
	"unicode/utf8"

	sprig "github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

// Case is one input and what came of it.
type Case struct {
	Template *string          `json:"template,omitempty"`
	Data     *json.RawMessage `json:"data,omitempty"`
	Yaml     *string          `json:"yaml,omitempty"`
	Output   *string          `json:"output,omitempty"`
	JSON     *json.RawMessage `json:"json,omitempty"`
	Error    *string          `json:"error,omitempty"`
}

func main() {
	time.Local = time.UTC
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "eval":
		return eval(os.Stdin, os.Stdout)
	case len(args) == 2 && args[0] == "corpus":
		return corpus(args[1])
	case len(args) == 2 && args[0] == "sprig":
		return sprigCases(args[1])
	}
	return fmt.Errorf("usage: oracle eval | oracle corpus <folder> | oracle sprig <file>")
}

func eval(in io.Reader, out io.Writer) error {
	var cases []Case
	if err := json.NewDecoder(in).Decode(&cases); err != nil {
		return err
	}
	for i := range cases {
		var data any
		if cases[i].Data != nil {
			if err := json.Unmarshal(*cases[i].Data, &data); err != nil {
				return err
			}
		}
		judge(&cases[i], data)
	}
	return write(out, cases)
}

func judge(c *Case, data any) {
	var err error
	if c.Yaml != nil {
		var value []byte
		if value, err = yaml.YAMLToJSON([]byte(*c.Yaml)); err == nil {
			raw := json.RawMessage(value)
			c.JSON = &raw
		}
	} else {
		var text string
		if text, err = render(*c.Template, data); err == nil {
			c.Output = &text
		}
	}
	if err != nil {
		message := strings.ToValidUTF8(err.Error(), "?")
		if len(message) > 100 {
			message = strings.ToValidUTF8(message[:100], "") + "…"
		}
		c.Error = &message
	}
}

// render does what Cluster API's renderValueTemplate does before it reads the result.
func render(text string, data any) (out string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	tpl, err := template.New("tpl").Funcs(sprig.HermeticTxtFuncMap()).Parse(text)
	if err != nil {
		return "", err
	}
	var buf bytes.Buffer
	if err := tpl.Execute(&buf, data); err != nil {
		return "", err
	}
	if !utf8.Valid(buf.Bytes()) {
		return "", fmt.Errorf("the output is not valid UTF-8")
	}
	return buf.String(), nil
}

func write(out io.Writer, cases []Case) error {
	if _, err := io.WriteString(out, "[\n"); err != nil {
		return err
	}
	for i := range cases {
		var line bytes.Buffer
		enc := json.NewEncoder(&line)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(&cases[i]); err != nil {
			return err
		}
		text := strings.TrimSuffix(line.String(), "\n")
		if i+1 < len(cases) {
			text += ","
		}
		if _, err := io.WriteString(out, text+"\n"); err != nil {
			return err
		}
	}
	_, err := io.WriteString(out, "]\n")
	return err
}

func corpus(folder string) error {
	raw, err := os.ReadFile(filepath.Join(folder, "data.json"))
	if err != nil {
		return err
	}
	templates, err := inputs(filepath.Join(folder, "templates.txt"))
	if err != nil {
		return err
	}
	texts, err := inputs(filepath.Join(folder, "yaml.txt"))
	if err != nil {
		return err
	}
	var cases, readings []Case
	for _, text := range append(templates, combinations()...) {
		// Functions may change the data, so every case gets its own.
		var data any
		if err := json.Unmarshal(raw, &data); err != nil {
			return err
		}
		text := text
		c := Case{Template: &text}
		judge(&c, data)
		if c.Error == nil || !strings.Contains(*c.Error, "not exported") {
			cases = append(cases, c)
		}
	}
	for _, text := range texts {
		text := text
		c := Case{Yaml: &text}
		judge(&c, nil)
		readings = append(readings, c)
	}
	for name, list := range map[string][]Case{"templates.json": cases, "yaml.json": readings} {
		var out bytes.Buffer
		if err := write(&out, list); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name), out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// inputs reads one text per line; a line in double quotes is unquoted, lines that start with ## are comments.
func inputs(path string) ([]string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, line := range strings.Split(string(raw), "\n") {
		if line == "" || strings.HasPrefix(line, "##") {
			continue
		}
		if len(line) > 1 && line[0] == '"' && line[len(line)-1] == '"' {
			text, err := strconv.Unquote(line)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", path, line, err)
			}
			line = text
		}
		texts = append(texts, line)
	}
	return texts, nil
}
