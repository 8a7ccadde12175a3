package main

import (
	"fmt"
	"strings"
)

// values are operands of every type that templates can make.
var values = []string{
	`nil`, `.missing`, `.null`, `true`, `false`, `0`, `7`, `-3`, `2.5`, `1e21`, `""`, `"abc"`, `"Hello World"`, `"12"`, `"héé"`,
	`.n`, `.float`, `.s`, `.list`, `.map`, `.empty.list`, `.empty.map`, `(list)`, `(list 1 "a" nil)`, `(dict)`, `(dict "a" 1)`,
	`(splitList "," "b,a")`, `(until 3)`, `(rest (list))`, `(semver "1.2.3")`, `(index "abc" 0)`, `(len "abc")`, `(int64 5)`, `(chunk 1 (list 1 2))`,
}

// one are functions of one operand of any type.
var one = []string{
	"print %s", "printf \"%%v|%%s|%%d|%%q|%%x|%%T\" %[1]s %[1]s %[1]s %[1]s %[1]s %[1]s", "printf \"%%#v\" %s", "len %s", "not %s", "html %s", "js %s", "urlquery %s",
	"toString %s", "toStrings %s", "toJson %s", "toPrettyJson %s", "mustToRawJson %s", "quote %s", "squote %s", "cat %s", "kindOf %s", "typeOf %s",
	"default \"d\" %s", "empty %s", "coalesce %s \"x\"", "all %s", "any %s", "int %s", "int64 %s", "float64 %s", "add1 %s", "add %s 1", "sub 1 %s", "mul 2 %s",
	"div 10 %s", "mod 10 %s", "max 1 %s", "min 1 %s", "maxf 1 %s", "minf 1 %s", "floor %s", "ceil %s", "round %s 1", "addf %s 1", "mulf %s 1.5", "toDecimal %s",
	"first %s", "last %s", "rest %s", "initial %s", "reverse %s", "uniq %s", "compact %s", "sortAlpha %s", "join \"-\" %s", "has 1 %s", "without %s 1",
	"slice %s 1", "concat %s (list 1)", "append %s 1", "prepend %s 1", "chunk 2 %s | toJson", "deepCopy %s", "dict %s 1", "list %s %[1]s",
	"get %s \"a\"", "hasKey %s \"a\"", "keys %s | sortAlpha", "values %s | len", "pick %s \"a\"", "omit %s \"a\"", "merge %s (dict \"b\" 2)", "merge (dict \"b\" 2) %s",
	"set %s \"k\" 1", "unset %s \"a\"", "pluck \"a\" %s", "index %s 0", "index %s \"a\"", "index .list %s", "index .map %s", "ternary 1 2 %s", "upper %s", "trim %s", "b64enc %s",
	"repeat 2 %s", "trunc 2 %s", "semver %s", "fromJson %s", "atoi %s", "until %s", "seq %s", "untilStep 0 %s 2", "duration %s", "durationRound %s", "semverCompare \">1\" %s",
	"dig \"a\" \"b\" \"x\" %s", "eq %s nil", "call %s", "or %s 1", "and %s 1", "tuple %s | toJson", "mergeOverwrite (dict \"a\" (dict \"b\" 1) \"l\" (list 1)) (dict \"a\" %s \"l\" %[1]s) | toJson",
	"merge (dict \"a\" (dict \"b\" 1) \"l\" (list) \"z\" 0) (dict \"a\" %s \"l\" %[1]s \"z\" %[1]s) | toJson",
}

// two are functions of two operands of any type.
var two = []string{"eq %s %s", "lt %s %s", "deepEqual %s %s", "print %s %s"}

func combinations() []string {
	var texts []string
	for _, function := range one {
		for _, value := range values {
			if !strings.Contains(function, "%") {
				continue
			}
			texts = append(texts, "{{ "+fmt.Sprintf(function, value)+" }}")
		}
		texts = append(texts, "{{ .missing | "+piped(function)+" }}", "{{ .null | "+piped(function)+" }}")
	}
	for _, value := range values {
		texts = append(texts,
			"{{ if "+value+" }}yes{{ else }}no{{ end }}",
			"{{ with $x := "+value+" }}{{ . }}{{ $x }}{{ else }}none{{ end }}",
			"{{ range $i, $v := "+value+" }}[{{ $i }}={{ $v }}]{{ else }}none{{ end }}",
			"{{ range "+value+" }}<{{ . }}>{{ else }}none{{ end }}",
			"{{ $x := "+value+" }}{{ $x }} {{ $x.field }}",
			"{{ ("+value+").a.b }}",
			"{{ "+value+" }}",
			"{{ "+value+" | print }}",
		)
	}
	for _, function := range two {
		for i, left := range values {
			for j, right := range values {
				// A third of the pairs says as much as all of them.
				if (i+2*j)%3 == 0 || i == j {
					texts = append(texts, "{{ "+fmt.Sprintf(function, left, right)+" }}")
				}
			}
		}
	}
	return texts
}

// piped is a function whose last operand comes from the pipeline, where it takes it at the end.
func piped(function string) string {
	fields := strings.Fields(function)
	return fields[0]
}
