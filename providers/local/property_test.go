package local

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"pgregory.net/rapid"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// fact is what a line of a random zone file means, known by the generator and
// never read from the file.
type fact struct {
	name       string // absolute, lower case
	kind, data string
	ttl        uint32
}

func (f fact) String() string { return fmt.Sprintf("%s %d %s %s", f.name, f.ttl, f.kind, f.data) }

func sortedFacts(facts []fact) []string {
	var lines []string
	for _, f := range facts {
		lines = append(lines, f.String())
	}
	slices.Sort(lines)
	return lines
}

func factsOf(rrs []dns.RR) []fact {
	var facts []fact
	for _, rr := range rrs {
		facts = append(facts, factOf(rr))
	}
	return facts
}

func factOf(rr dns.RR) fact {
	return fact{
		name: strings.ToLower(rr.Header().Name),
		kind: dns.Type(rr.Header().Rrtype).String(),
		ttl:  rr.Header().Ttl,
		data: strings.TrimPrefix(rr.String(), rr.Header().String()),
	}
}

// writer writes a random zone file with every habit that people have.
type writer struct {
	*rapid.T
	text         strings.Builder
	facts        []fact
	origin, last string
	ttl          uint32
	known, fixed bool
	standard     uint32
	eol          string
}

func (w *writer) coin(label string) bool { return rapid.Bool().Draw(w.T, label) }

func (w *writer) pick(label string, words ...string) string {
	return rapid.SampledFrom(words).Draw(w.T, label)
}

// file writes a zone of up to n lines.
func (w *writer) file(n int) string {
	w.origin, w.eol = string(zone), "\n"
	if w.coin("crlf") {
		w.eol = "\r\n"
	}
	if w.coin("default TTL") {
		w.direct("$TTL")
	}
	w.record("@", "SOA", "ns.example.net. host.example.net. 7 3600 600 86400 60", "ns.example.net. host.example.net. 7 3600 600 86400 60")
	w.record("@", "NS", "ns.example.net.", "ns.example.net.")
	for range rapid.IntRange(0, n).Draw(w.T, "lines") {
		w.line()
	}
	text := w.text.String()
	if w.coin("cut the last line end") {
		return strings.TrimSuffix(text, w.eol)
	}
	return text
}

func (w *writer) line() {
	labels := []string{"@", "www", "mail", "a.b", "*.w", "x.sub", "sub"}
	switch rapid.IntRange(0, 9).Draw(w.T, "kind of line") {
	case 0:
		w.text.WriteString(w.pick("blank", "", "   ", "; a comment ( \"", "\t; another") + w.eol)
	case 1:
		w.direct(w.pick("directive", "$TTL", "$ORIGIN", "$origin"))
	case 2:
		target := w.pick("target", "dc1.example.net.", "dc2.example.net.")
		w.record(w.pick("alias", "alias1", "alias2"), "CNAME", target, target)
	case 3:
		spelled := w.pick("text", `"a;b"|"a;b"`, `"q\"(x"|"q\"(x"`, `un\;quoted|"un;quoted"`, `"" "x y"|"" "x y"`, `"v=spf1 -all" ; c|"v=spf1 -all"`)
		data, means, _ := strings.Cut(spelled, "|")
		w.record(w.pick("name", labels...), "TXT", data, means)
	case 4:
		w.record(w.pick("name", labels...), "MX", "10 mail", "10 mail."+strings.TrimPrefix(w.origin, "."))
	case 5:
		addr := fmt.Sprintf("2001:db8::%d", rapid.IntRange(1, 3).Draw(w.T, "host"))
		w.record(w.pick("name", labels...), "AAAA", strings.Replace(addr, "db8::", "DB8:0::", 1), addr)
	default:
		addr := fmt.Sprintf("192.0.2.%d", rapid.IntRange(1, 4).Draw(w.T, "host"))
		w.record(w.pick("name", labels...), "A", addr, addr)
	}
}

func (w *writer) direct(name string) {
	if name == "$TTL" {
		w.standard = uint32(rapid.IntRange(0, 3).Draw(w.T, "ttl") * 60)
		w.known, w.fixed = true, true
		fmt.Fprintf(&w.text, "%s %dm%s", name, w.standard/60, w.eol)
		return
	}
	to := w.pick("origin", "sub.example.com.", "example.com.", ".", "com.")
	word := to
	if w.origin == "example.com." && to == "sub.example.com." && w.coin("relative origin") {
		word = "sub"
	}
	w.origin = to
	fmt.Fprintf(&w.text, "%s\t%s ; from here%s", name, word, w.eol)
}

// record writes one record, of which much may be left out.
func (w *writer) record(label, kind, data, means string) {
	if aliased := slices.ContainsFunc(w.facts, func(f fact) bool { return kind == "CNAME" && f.name == label+"."+string(zone) }); aliased {
		return // one CNAME a name
	}
	name := strings.TrimPrefix(label+"."+string(zone), "@.")
	f := fact{name: name, kind: kind, data: means, ttl: w.standard}
	if !w.fixed {
		f.ttl = w.ttl
	}
	head := w.owner(name)
	if explicit := w.coin("explicit TTL"); explicit || !w.known {
		f.ttl = uint32(rapid.IntRange(1, 4).Draw(w.T, "ttl") * 60)
		head = append(head, w.pick("spelling", fmt.Sprint(f.ttl), fmt.Sprintf("%dm", f.ttl/60)))
	}
	if w.coin("class") {
		head = append(head, w.pick("class", "IN", "in"))
		if len(head) == 3 && w.coin("class first") {
			head[1], head[2] = head[2], head[1]
		}
	}
	w.ttl, w.known, w.last = f.ttl, true, name
	head = append(head, w.pick("letter case", kind, strings.ToLower(kind)))
	w.text.WriteString(strings.Join(head, w.pick("blank", " ", "\t", "  ")) + w.layOut(data) + w.eol)
	// Without $TTL BIND hands on the TTL that it has settled a mixed set on, and
	// other readers the one that was written (RFC 1035 section 5.1): not asked.
	w.known = w.fixed || !slices.ContainsFunc(w.facts, func(o fact) bool { return o.name == f.name && o.kind == f.kind && o.ttl != f.ttl })
	w.facts = append(w.facts, f)
}

func (w *writer) owner(name string) []string {
	if name == w.last && w.coin("inherit") {
		return []string{""}
	}
	relative, inside := strings.CutSuffix(name, "."+w.origin)
	switch {
	case name == w.origin && w.coin("apex"):
		return []string{"@"}
	case inside && w.origin != "." && w.coin("relative"):
		name = relative
	}
	if w.coin("upper case") {
		return []string{strings.ToUpper(name)}
	}
	return []string{name}
}

func (w *writer) layOut(data string) string {
	if strings.Contains(data, " ; ") || !w.coin("parentheses") {
		return " " + data + w.pick("tail", "", " ", " ; a remark (")
	}
	first, rest, _ := strings.Cut(data, " ")
	if strings.Contains(data, `"`) {
		first, rest = data, ""
	}
	return " ( " + first + " ; ) inner" + w.eol + "  " + rest + w.eol + ")" + w.pick("tail", "", " ; outer")
}

// TestParseMeansWhatWasWritten: the file layer reads random files as their
// writer meant them, and a draft without a change is the file.
func TestParseMeansWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &writer{T: t}
		text := w.file(15)
		doc, err := parse(zone, text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if got, want := sortedFacts(factsOf(doc.records())), sortedFacts(w.facts); !slices.Equal(got, want) {
			t.Fatalf("got\n%s\nwant\n%s\nfrom\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), text)
		}
		if same, err := doc.draft().finish(); err != nil || same.text != text {
			t.Fatalf("a draft without a change: %v\n%s", err, doc.draft().render())
		}
	})
}

// TestEditsMeanWhatTheySay: random edits of random files lead to what a model
// of plain facts leads to, and leave the bytes of every other line alone.
func TestEditsMeanWhatTheySay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &writer{T: t}
		text := w.file(15)
		doc, err := parse(zone, text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		model := w.facts
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			doc, model = randomEdit(t, doc, model)
		}
	})
}

// randomEdit makes one change of one set in a document and in the model.
func randomEdit(t *rapid.T, doc *document, model []fact) (*document, []fact) {
	key := rapid.SampledFrom([]record.Key{
		keyOf("www", record.A), keyOf("a.b", record.A), keyOf("*.w", record.A), keyOf("sub", record.AAAA),
		keyOf("new", record.A), keyOf("alias1", record.CNAME), {Zone: zone, Name: zone, Type: record.A},
	}).Draw(t, "key")
	c := record.Change{
		Action: rapid.SampledFrom([]record.Action{record.Create, record.Resume, record.Pause, record.Swap, record.SetTTL}).Draw(t, "action"),
		Key:    key,
		Value:  randomValue(t, key.Type, "value"),
		From:   randomValue(t, key.Type, "from"),
		TTL:    time.Duration(rapid.IntRange(0, 2).Draw(t, "new ttl")) * 30 * time.Second,
	}
	d := doc.draft()
	e := setEdit{d, key}
	next, feasible := applyToModel(slices.Clone(model), c)
	err := e.change(c)
	if err == nil {
		err = e.checkAlias()
	}
	if (err == nil) != feasible {
		t.Fatalf("%+v: got %v, the model says %v, in\n%s", c, err, feasible, doc.draft().render())
	}
	if err != nil {
		if f, ok := errors.AsType[*fault](err); !ok || f.class != provider.Conflict && f.class != provider.Permanent {
			t.Fatalf("%+v: %v has no class", c, err)
		}
		return doc, model
	}
	after, err := d.finish()
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	if got, want := sortedFacts(factsOf(after.records())), sortedFacts(next); !slices.Equal(got, want) {
		t.Fatalf("%+v: got\n%s\nwant\n%s\nfrom\n%s\nto\n%s", c, strings.Join(got, "\n"), strings.Join(want, "\n"), doc.draft().render(), after.text)
	}
	untouched(t, key, doc, after)
	return after, next
}

func randomValue(t *rapid.T, kind record.Type, label string) string {
	values := map[record.Type][]string{
		record.A:     {"192.0.2.1", "192.0.2.2", "192.0.2.3"},
		record.AAAA:  {"2001:db8::1", "2001:db8::2"},
		record.CNAME: {"dc1.example.net.", "dc2.example.net."},
	}
	return rapid.SampledFrom(values[kind]).Draw(t, label)
}

// applyToModel is what a change means, in the words of the contract; false when
// it cannot be made.
func applyToModel(model []fact, c record.Change) ([]fact, bool) {
	set := func(f fact) bool { return f.name == string(c.Key.Name) && f.kind == string(c.Key.Type) }
	value := func(v string) func(fact) bool { return func(f fact) bool { return set(f) && f.data == v } }
	copyOf := func(v string) func(fact) bool {
		prefix := fmt.Sprintf(`"v=sidestep1 type=%s value=%s ttl=`, c.Key.Type, v)
		return func(f fact) bool {
			return f.name == string(provider.ParkedName(c.Key.Name)) && strings.HasPrefix(f.data, prefix)
		}
	}
	isLive, hasCopy := slices.ContainsFunc(model, value(c.Value)), slices.ContainsFunc(model, copyOf(c.Value))
	ttl := uint32(c.TTL / time.Second)
	if ttl == 0 {
		ttl = modelTTL(model, set, copyOf(c.Value))
	}
	park := func(v string) {
		old := model[slices.IndexFunc(model, value(v))].ttl
		model = slices.DeleteFunc(model, copyOf(v))
		model = slices.DeleteFunc(model, value(v))
		text := provider.Parked{Type: c.Key.Type, Value: v, TTL: seconds(old)}.String()
		model = append(model, fact{string(provider.ParkedName(c.Key.Name)), "TXT", `"` + text + `"`, textTTL})
	}
	switch c.Action {
	case record.Create, record.Resume:
		if c.Action == record.Resume && !isLive && !hasCopy {
			return nil, false
		}
		if !isLive {
			model = append(model, fact{string(c.Key.Name), string(c.Key.Type), c.Value, ttl})
		}
		model = slices.DeleteFunc(model, copyOf(c.Value))
	case record.Pause:
		if !isLive {
			return nil, false
		}
		park(c.Value)
		return model, true
	case record.Swap:
		if isLive || !slices.ContainsFunc(model, value(c.From)) {
			return nil, false
		}
		park(c.From)
		model = slices.DeleteFunc(model, copyOf(c.Value))
		model = append(model, fact{string(c.Key.Name), string(c.Key.Type), c.Value, ttl})
	case record.SetTTL:
		if !isLive {
			return nil, false
		}
	}
	names, aliases := 0, 0
	for i, f := range model {
		if set(f) {
			model[i].ttl = ttl
		}
		if f.name == string(c.Key.Name) {
			names++
			if f.kind == "CNAME" {
				aliases++
			}
		}
	}
	return model, aliases == 0 || names == 1
}

func modelTTL(model []fact, set, parked func(fact) bool) uint32 {
	lowest, found := uint32(0), false
	for _, f := range model {
		if set(f) && (!found || f.ttl < lowest) {
			lowest, found = f.ttl, true
		}
	}
	if found {
		return lowest
	}
	if i := slices.IndexFunc(model, parked); i >= 0 {
		copied, err := provider.ParseParked(strings.Trim(model[i].data, `"`))
		if err == nil {
			return uint32(copied.TTL / time.Second)
		}
	}
	return model[slices.IndexFunc(model, func(f fact) bool { return f.kind == "SOA" })].ttl
}

// untouched sees that every line beside the set's own is there, in order and
// byte for byte, but for at most one that has to spell out what it left out.
func untouched(t *rapid.T, key record.Key, before, after *document) {
	others := func(d *document) []statement {
		return slices.DeleteFunc(slices.Clone(d.statements), func(s statement) bool {
			return s.rr != nil && (s.name == string(key.Name) && s.rr.Header().Rrtype == rrtype(key.Type) || s.name == string(provider.ParkedName(key.Name)))
		})
	}
	old, now := others(before), others(after)
	if len(old) != len(now) {
		t.Fatalf("%d lines beside the set, then %d", len(old), len(now))
	}
	given := 0
	for i := range old {
		was := strings.TrimRight(old[i].text, "\r\n")
		is := strings.TrimRight(now[i].text, "\r\n")
		if is == was {
			continue
		}
		given++
		if !completes(was, is, now[i]) {
			t.Fatalf("line %q became %q", was, is)
		}
	}
	// A set of n lines has at most n+1 followers to which something is to be given.
	if most := len(before.find(key.Name, rrtype(key.Type))) + len(before.find(provider.ParkedName(key.Name), dns.TypeTXT)) + 1; given > 2*most {
		t.Fatalf("%d lines beside the set were touched, at most %d have to be", given, 2*most)
	}
}

// completes reports whether a line is another one with an owner or TTL put in.
func completes(was, is string, s statement) bool {
	owner, ttl := s.rr.Header().Name, fmt.Sprintf("%d ", s.rr.Header().Ttl)
	return is == owner+was || strings.Replace(is, ttl, "", 1) == was || strings.Replace(is, ttl, "", 1) == owner+was
}

// TestRandomFilesReadAsBINDReadsThem: edited files mean the same to
// named-checkzone.
func TestRandomFilesReadAsBINDReadsThem(t *testing.T) {
	checkzone := realTool(t, "named-checkzone")
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		w := &writer{T: t}
		text := w.file(12)
		doc, err := parse(zone, text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		after, _ := randomEdit(t, doc, w.facts)
		agrees(t, checkzone, dir, after)
	})
}

func agrees(t *rapid.T, checkzone, dir string, doc *document) {
	path := filepath.Join(dir, "zone")
	text := doc.draft().render() + "\n" // BIND takes a record without a line end, and no directive
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(checkzone, "-i", "none", "-k", "ignore", "-n", "ignore", "-r", "ignore", "-q", "-D", "-o", "-", string(zone), path).CombinedOutput()
	if err != nil {
		t.Fatalf("named-checkzone: %v: %s\n%s", err, out, text)
	}
	theirs, err := parse(zone, string(out))
	if err != nil {
		t.Fatalf("read named-checkzone: %v\n%s", err, out)
	}
	several := mixed(doc)
	if got, want := asOneSet(doc, several), asOneSet(theirs, several); !slices.Equal(got, want) {
		t.Fatalf("we read\n%s\nBIND reads\n%s\nfrom\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), text)
	}
}

// mixed finds the sets whose records differ in TTL: servers settle on one of
// them, each in its way.
func mixed(doc *document) map[string]bool {
	ttls, found := map[string]uint32{}, map[string]bool{}
	for _, f := range factsOf(doc.records()) {
		set := f.name + " " + f.kind
		if ttl, seen := ttls[set]; seen && ttl != f.ttl {
			found[set] = true
		}
		ttls[set] = f.ttl
	}
	return found
}

// asOneSet lists records as a server holds them: each once, without the TTL
// where the set has several.
func asOneSet(doc *document, several map[string]bool) []string {
	var lines []string
	for _, f := range factsOf(doc.records()) {
		if several[f.name+" "+f.kind] {
			f.ttl = 0
		}
		lines = append(lines, f.String())
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// realTool finds a program that is no part of the build, or skips.
func realTool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("SIDESTEP_TEST_REAL") == "require" {
		t.Fatalf("%s is required and not installed", name)
	}
	t.Skipf("%s is not installed", name)
	return ""
}
