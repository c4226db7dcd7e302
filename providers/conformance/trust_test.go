package conformance

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libdns/libdns"
	"github.com/libdns/libdns/libdnstest"

	"sidestep/pkg/provider/providertest"
)

var update = flag.Bool("update", false, "write ../TRUST.md anew")

const trustFile = "../TRUST.md"

// world is one fresh zone: a released module that reaches it, and a hand that
// edits and reads it on another way.
type world struct {
	testing.TB

	module libdnstest.RecordProvider
	hand   providertest.Hand
}

const zoneName = "example.com."

// promise is one thing that libdns's contract says of an operation, or that any
// user of it relies on.
type promise struct {
	operation string // get, append, set, delete
	text      string
	kept      func(*world) error // nil when it is; errUntried when the world cannot tell
}

var errUntried = errors.New("not tried")

// subject is a released module.
type subject struct {
	name, version string
	against       string // what it is run against
	use           string // what sidestep takes of it, and why no more
	start         func(t testing.TB) *world
	own           []promise // about what this vendor alone has
}

// patience is how long an operation may take; retries are in it.
const patience = 40 * time.Second

// verdict runs one promise in a fresh zone.
func (p promise) verdict(w *world) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = "FAILS: panics: " + plain(fmt.Sprint(r))
		}
	}()
	err := p.kept(w)
	if errors.Is(err, errUntried) {
		return "not tried"
	}
	if err != nil {
		return "FAILS: " + plain(err.Error())
	}
	return "pass"
}

var (
	address   = regexp.MustCompile(`(?:https?://)?127\.0\.0\.1:[0-9]+`)
	requestID = regexp.MustCompile(`(?i)(?:, )?\(?request ?id[:=] ?"?[0-9a-zA-Z-]+"?\)?,?`)
	clock     = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.Z+-]+`)
)

// plain takes out of a text what differs from run to run.
func plain(text string) string {
	text = address.ReplaceAllString(text, "HOST")
	text = requestID.ReplaceAllString(text, "")
	text = clock.ReplaceAllString(text, "TIME")
	text = strings.Join(strings.Fields(text), " ")
	text = strings.ReplaceAll(text, "|", "/")
	if runes := []rune(text); len(runes) > 120 {
		text = string(runes[:120]) + " …"
	}
	return text
}

// TestTrust holds each released module to each promise, in zones that the
// project's fakes and a real name server keep, and compares what comes of it with
// TRUST.md.
func TestTrust(t *testing.T) {
	var doc strings.Builder
	doc.WriteString(trustHead)
	whole := true
	for _, s := range subjects() {
		whole = s.try(t, &doc) && whole
	}
	switch {
	case !whole:
		t.Skip("TRUST.md is compared only when every row of it was tried: nothing was left out by -run, and BIND is installed")
	case *update:
		if err := os.WriteFile(trustFile, []byte(doc.String()), 0o644); err != nil { //nolint:gosec // a page for everybody
			t.Fatal(err)
		}
	default:
		compareTrust(t, doc.String())
	}
}

// try writes a module's part of the page, and reports whether every row was
// tried.
func (s subject) try(t *testing.T, doc *strings.Builder) (whole bool) {
	t.Helper()
	fmt.Fprintf(doc, "\n## %s %s\n\nAgainst %s.\n\n%s\n\n| operation | promise | |\n|---|---|---|\n", s.name, s.version, s.against, s.use)
	count, rows := map[string]int{}, slices.Concat(promises(), s.own)
	for _, p := range rows {
		t.Run(s.name+"/"+p.operation+"/"+p.text, func(t *testing.T) {
			verdict := p.verdict(s.start(t))
			fmt.Fprintf(doc, "| %s | %s | %s |\n", p.operation, p.text, verdict)
			word, _, _ := strings.Cut(verdict, ":")
			count[word]++
		})
	}
	fmt.Fprintf(doc, "\n%d promises kept, %d not.\n", count["pass"], count["FAILS"])
	t.Logf("%s %s: %d promises kept, %d not", s.name, s.version, count["pass"], count["FAILS"])
	return count["pass"]+count["FAILS"]+count["not tried"] == len(rows)
}

func compareTrust(t *testing.T, got string) {
	t.Helper()
	file, err := os.ReadFile(trustFile)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(file), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			t.Errorf("providers/TRUST.md, line %d: expected\n%s\nfound that\n%s", i+1, strings.Join(want[min(i, len(want)):min(i+1, len(want))], ""), line)
		}
	}
	if t.Failed() || len(want) != len(strings.Split(got, "\n")) {
		t.Errorf("see what changed, then: cd providers/conformance && go test -run TestTrust -update .")
	}
}

// rr is a record as libdns has it, its name relative to the zone.
func rr(name, kind, data string) libdns.Record {
	parsed, err := libdns.RR{Name: name, Type: kind, TTL: 10 * time.Minute, Data: data}.Parse()
	if err != nil {
		return libdns.RR{Name: name, Type: kind, TTL: 10 * time.Minute, Data: data}
	}
	return parsed
}

// put makes records by hand, in a zone file's spelling.
func (w *world) put(name, kind string, data ...string) {
	for _, d := range data {
		w.hand.Put(providertest.RR{Name: name + "." + zoneName, Type: kind, TTL: 10 * time.Minute, Data: d})
	}
	w.settle()
}

func (w *world) settle() {
	if s, ok := w.hand.(providertest.Settler); ok {
		s.Settle()
	}
}

// arm makes the next request of a kind go wrong; false where it cannot.
func (w *world) arm(fault providertest.Fault) bool {
	faulty, ok := w.hand.(providertest.Faulty)
	return ok && faulty.Fault(fault)
}

// zone lists by hand what a name has of a type: "DATA/TTL", sorted.
func (w *world) zone(name, kind string) string {
	var lines []string
	for _, r := range w.hand.Dump() {
		if r.Name == name+"."+zoneName && r.Type == kind {
			lines = append(lines, fmt.Sprintf("%s/%d", r.Data, int(r.TTL/time.Second)))
		}
	}
	return sorted(lines)
}

func (w *world) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(w.Context(), patience)
}

func (w *world) get() ([]libdns.Record, error) {
	ctx, cancel := w.context()
	defer cancel()
	return w.module.GetRecords(ctx, zoneName)
}

func (w *world) do(operation func(context.Context, string, []libdns.Record) ([]libdns.Record, error), records ...libdns.Record) ([]libdns.Record, error) {
	ctx, cancel := w.context()
	defer cancel()
	done, err := operation(ctx, zoneName, records)
	w.settle()
	return done, err
}

// expect compares what a name has of a type with what it should have.
func (w *world) expect(name, kind, want string) error {
	if got := w.zone(name, kind); got != want {
		return fmt.Errorf("expected %q in the zone, found %q", want, got)
	}
	return nil
}
