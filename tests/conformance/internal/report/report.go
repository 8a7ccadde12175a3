// Package report collects what the checks find.
package report

import (
	"fmt"
	"io"
	"sort"
	"strings"
)

// Report is filled by the checks: failures with their place, counts of what was looked at, and what was left out.
type Report struct {
	// Name is that of the program.
	Name     string
	failures []failure
	counts   map[string]int
	order    []string
	notes    []string
}

type failure struct{ place, check, reason string }

func New() *Report {
	return &Report{Name: "readers", counts: map[string]int{}}
}

// Fail records that a check found a fault at a place, which is a file or what stands for one.
func (r *Report) Fail(place, check, format string, args ...any) {
	r.failures = append(r.failures, failure{place, check, fmt.Sprintf(format, args...)})
}

// Count adds to the number of things of a sort that were looked at; naming it with 0 makes an absence visible.
func (r *Report) Count(what string, n int) {
	if _, known := r.counts[what]; !known {
		r.order = append(r.order, what)
	}
	r.counts[what] += n
}

// Counted says how many things of a sort were looked at.
func (r *Report) Counted(what string) int {
	return r.counts[what]
}

// Require fails the run where nothing of a sort was looked at, so that an empty tree never passes.
func (r *Report) Require(place string, what ...string) {
	for _, w := range what {
		if r.counts[w] == 0 {
			r.Fail(place, "empty", "nothing to check: no %s", w)
		}
	}
}

// Note records what a reader of the summary must know, such as a check that was skipped.
func (r *Report) Note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// Failed says whether any check failed.
func (r *Report) Failed() bool {
	return len(r.failures) > 0
}

// Failures returns every failure as one line.
func (r *Report) Failures() []string {
	var lines []string
	for _, f := range r.failures {
		lines = append(lines, fmt.Sprintf("%s: [%s] %s", f.place, f.check, f.reason))
	}
	sort.Strings(lines)
	return lines
}

// Print writes failures to talk, and notes and one line of counts to out.
func (r *Report) Print(out, talk io.Writer) {
	for _, line := range r.Failures() {
		fmt.Fprintln(talk, "FAIL", line)
	}
	for _, n := range r.notes {
		fmt.Fprintln(out, "note:", n)
	}
	var parts []string
	for _, what := range r.order {
		parts = append(parts, fmt.Sprintf("%d %s", r.counts[what], what))
	}
	verdict := "ok"
	if r.Failed() {
		verdict = fmt.Sprintf("%d failures", len(r.failures))
	}
	fmt.Fprintf(out, "%s: %s: %s\n", r.Name, verdict, strings.Join(parts, ", "))
}
