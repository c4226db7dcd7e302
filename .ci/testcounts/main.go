// Command testcounts reads what `go test -json` prints, shows a line per
// package and the output of every test that failed, and ends with the tests
// that were skipped, why, those that failed with the first that each said, and
// one line of counts:
//
//	12 passed, 0 failed, 1 skipped
//
// It exits 1 if anything failed or if nothing ran. With SIDESTEP_TEST_REAL set
// to "require" a skipped test is a failure too.
//
// A shared suite has cases that mean nothing to some of what it is run on. They
// skip themselves with a reason that begins with "does not apply: " (libdnstest
// says that something is "not implemented by provider"). Nobody can make them
// run, so they are no skipped tests and have a line of their own.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build-output and build-fail instead of Package
	Test        string // empty for what concerns the whole package
	Output      string
	FailedBuild string
	Elapsed     float64 // seconds
}

// name is "package" or "package.Test".
func (e event) name() string {
	if e.Test == "" {
		return e.Package
	}
	return e.Package + "." + e.Test
}

// tally is what was seen so far.
type tally struct {
	passed, failed int
	inapplicable   int                 // cases of shared suites that mean nothing here
	skipped        []string            // "name: reason"
	failures       []string            // "name: the first that it said"
	output         map[string][]string // of tests and packages that still run
	build          map[string][]string // what the compiler said, by import path
	broken         map[string]bool     // packages with a failed test
}

func main() {
	os.Exit(run(os.Stdin, os.Stdout, os.Getenv("SIDESTEP_TEST_REAL") == "require"))
}

// run reads events to their end and reports the exit code.
func run(in io.Reader, out io.Writer, require bool) int {
	t := tally{output: map[string][]string{}, build: map[string][]string{}, broken: map[string]bool{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			t.line(line, out)
		}
		if err == io.EOF {
			return t.finish(out, require)
		}
		if err != nil {
			fmt.Fprintf(out, "read test events: %v\n", err)
			return 1
		}
	}
}

// line takes one line of input. What is no event was printed by the go command
// itself and is passed on.
func (t *tally) line(line string, out io.Writer) {
	var e event
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		fmt.Fprint(out, line)
		return
	}
	switch e.Action {
	case "output":
		t.output[e.name()] = append(t.output[e.name()], e.Output)
	case "build-output":
		t.build[e.ImportPath] = append(t.build[e.ImportPath], e.Output)
	case "pass", "fail", "skip":
		t.end(e, out)
		delete(t.output, e.name())
	}
}

// end counts a test or a package that has ended. A package that failed without
// a failed test (it did not build, or its process died) counts as one failure.
func (t *tally) end(e event, out io.Writer) {
	took := time.Duration(e.Elapsed * float64(time.Second)).Round(time.Millisecond)
	switch {
	case e.Action == "fail":
		if e.Test != "" || !t.broken[e.Package] {
			t.failed++
		}
		t.broken[e.Package] = true
		said := t.whole(e)
		if words := first(said); words != "" {
			t.failures = append(t.failures, e.name()+": "+words)
		}
		fmt.Fprintf(out, "FAIL  %s  %s\n", e.name(), took)
		fmt.Fprint(out, strings.Join(t.build[e.FailedBuild], ""), strings.Join(said, ""))
	case e.Test == "" && e.Action == "skip":
		fmt.Fprintf(out, "-     %s  no test files\n", e.Package)
	case e.Test == "":
		fmt.Fprintf(out, "ok    %s  %s\n", e.Package, took)
	case e.Action == "skip":
		t.skip(e.name(), reason(t.output[e.name()]))
	default:
		t.passed++
	}
}

// whole is what a test or a package said. A process that died takes the tests with it
// that ran: why it did stands in what one of them said, and nothing else ends them.
func (t *tally) whole(e event) []string {
	said := t.output[e.name()]
	if e.Test != "" {
		return said
	}
	for _, name := range slices.Sorted(maps.Keys(t.output)) {
		if strings.HasPrefix(name, e.Package+".") {
			said = append(said, t.output[name]...)
			delete(t.output, name)
		}
	}
	return said
}

// skip notes a skipped test. The reason begins with the line that gives it,
// "suite.go:43: ".
func (t *tally) skip(name, reason string) {
	_, why, _ := strings.Cut(reason, ": ")
	if strings.HasPrefix(why, "does not apply: ") || strings.HasSuffix(why, " not implemented by provider") {
		t.inapplicable++
		return
	}
	t.skipped = append(t.skipped, name+": "+reason)
}

// reason is what a test said before it was skipped, without the frame that the
// testing package puts around it.
func reason(output []string) string {
	var said []string
	for _, text := range output {
		text = strings.TrimSpace(text)
		if text == "" || strings.HasPrefix(text, "=== ") || strings.HasPrefix(text, "--- ") {
			continue
		}
		said = append(said, text)
	}
	if len(said) == 0 {
		return "no reason given"
	}
	return strings.Join(said, " ")
}

// first is what a failed test said first, cut short: the whole of it stands far
// above the end of the report.
func first(output []string) string {
	begin := slices.IndexFunc(output, said.MatchString)
	if begin < 0 {
		return ""
	}
	length := 1 + slices.IndexFunc(output[begin+1:], func(line string) bool { return !strings.HasPrefix(line, "        ") })
	if length == 0 {
		length = len(output) - begin
	}
	text := strings.TrimSpace(strings.Join(output[begin:begin+length], ""))
	if len(text) > atMost {
		return strings.ToValidUTF8(text[:atMost], "") + "…"
	}
	return text
}

// atMost is how many bytes of what a failed test said are repeated at the end.
const atMost = 600

// said begins what a test says, "    file_test.go:12: ", and why a process died.
var said = regexp.MustCompile(`^( +[\w.-]+\.go:\d+|panic|fatal error): `)

// finish prints the end of the report and reports the exit code.
func (t *tally) finish(out io.Writer, require bool) int {
	for _, s := range t.skipped {
		fmt.Fprintf(out, "skipped  %s\n", s)
	}
	for _, s := range t.failures {
		fmt.Fprintf(out, "failed   %s\n", s)
	}
	if t.inapplicable > 0 {
		fmt.Fprintf(out, "left out  %d cases of shared suites that do not apply to what they were run on\n", t.inapplicable)
	}
	code := 0
	if require && len(t.skipped) > 0 {
		fmt.Fprintln(out, "a skipped test is a failure: SIDESTEP_TEST_REAL is \"require\"")
		code = 1
	}
	if t.failed > 0 || t.passed == 0 {
		code = 1
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", t.passed, t.failed, len(t.skipped))
	return code
}
