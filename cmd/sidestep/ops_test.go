package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/lab"
	"sidestep/pkg/provider/providertest"
)

// everywhere runs a test at every provider, side by side but for those whose
// address is fixed and is led elsewhere for the whole process.
func everywhere(t *testing.T, run func(t *testing.T, start func(*testing.T, []providertest.RR) somewhere)) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(places)) {
		t.Run(name, func(t *testing.T) {
			if name != "hetzner" && name != "gandi" {
				t.Parallel()
			}
			run(t, places[name])
		})
	}
}

func rr(label, kind, data string) providertest.RR {
	return providertest.RR{Name: label + ".example.com.", Type: kind, TTL: 600 * time.Second, Data: data}
}

// TestImportIsInSync reads a zone of 250 records everywhere: what import writes
// loads, has each name with two values and none of the others, holds no secret,
// and a plan on it has nothing to change.
func TestImportIsInSync(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(*testing.T, []providertest.RR) somewhere) {
		o := newOffice(t)
		rrs := []providertest.RR{rr("mail", "MX", "10 mx.example.net."), rr("note", "TXT", `"a \"quoted\" text"`), rr("alias", "CNAME", "www0.example.com.")}
		const pairs = 100
		for i := range pairs {
			label := fmt.Sprintf("www%d", i)
			rrs = append(rrs, rr(label, "A", ip(o.backends[0])), rr(label, "A", ip(o.backends[1])))
		}
		for len(rrs) < 249 {
			rrs = append(rrs, rr(fmt.Sprintf("single%d", len(rrs)), "A", ip(o.backends[0])))
		}
		s := start(t, rrs)
		before := s.zone()
		zones := o.file("zones.yaml", o.config(s))
		made := filepath.Join(o.dir, "made.yaml")
		o.sidestep(0, "import", "example.com", "--config", zones, "--port", o.port(), "--output", made)
		text, err := os.ReadFile(made)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n  - name: www"); n != pairs || strings.Count(string(text), "\n  - name: ") != pairs {
			t.Errorf("%d names imported, want the %d with two values:\n%.2000s", n, pairs, text)
		}
		if !strings.Contains(string(text), "\n# alias.example.com. CNAME: www0.example.com.\n") || strings.Count(string(text), "\n# single") != len(rrs)-2*pairs-3 {
			t.Error("what cannot be steered is not kept as comments")
		}
		o.nameSecrets(s, string(text))
		head, _, _ := strings.Cut(o.config(s), "zones:")
		o.file("made.yaml", head+string(text))
		if out := o.sidestep(0, "plan", "--config", made, "--exit-code"); !strings.Contains(out, "zone example.com.: in sync, nothing to change") {
			t.Errorf("plan: %s", out)
		}
		if out := o.sidestep(0, "validate", "--online", "--config", made); !strings.Contains(out, fmt.Sprintf("%d of the %d record sets of the config in it", pairs, pairs)) {
			t.Errorf("validate: %s", out)
		}
		if after := s.zone(); !slices.Equal(before, after) {
			t.Error("the zone was changed")
		}
	})
}

var secretLine = regexp.MustCompile(`([a-z_]+): env:(SIDESTEP_[A-Z0-9_]+)`)

// nameSecrets gives the variables that an imported config names the values that
// stood in the config before, and finds none of those in it.
func (o *office) nameSecrets(s somewhere, text string) {
	o.t.Helper()
	for _, m := range secretLine.FindAllStringSubmatch(text, -1) {
		value := regexp.MustCompile(m[1] + `: ([^\s,}]+)`).FindStringSubmatch(s.keys)
		if value == nil {
			o.t.Fatalf("%s: the config had no such key", m[0])
		}
		o.env[m[2]] = value[1]
		if strings.Contains(text, value[1]) {
			o.t.Errorf("the imported config holds the secret %s", m[1])
		}
	}
	if len(o.env) == 0 && !strings.Contains(s.keys, "provider: local") {
		o.t.Errorf("expected the secrets to be named in\n%.500s", text)
	}
}

// TestReleaseLeavesNothing pauses a value of two names everywhere, and releases
// the zone: every record is live with all that it had, and there is no mark, no
// copy and no stamp.
func TestReleaseLeavesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(*testing.T, []providertest.RR) somewhere) {
		o := newOffice(t)
		dead, alive := ip(o.backends[0]), ip(o.backends[1])
		s := start(t, []providertest.RR{
			rr("www", "A", dead), rr("www", "A", alive), rr("api", "A", dead), rr("api", "A", alive),
			rr("mail", "MX", "10 mx.example.net."), rr("note", "TXT", `"not ours"`),
		})
		before := s.zone()
		config := o.file("sidestep.yaml", o.config(s)+fmt.Sprintf(`checks:
  web: {http: {url: "http://www.example.com:%s/healthz"}, interval: 20s, timeout: 15s, fall: 1, rise: 1}
records:
  - {name: www.example.com, check: web, answers: [%s, %s]}
  - {name: api.example.com, check: web, answers: [%s, %s]}
`, o.port(), dead, alive, dead, alive))
		if err := o.backends[0].Break(lab.Refuse); err != nil {
			t.Fatal(err)
		}
		o.sidestep(0, "reconcile", "--config", config)
		if during := s.zone(); slices.Equal(before, during) {
			t.Fatal("nothing was paused")
		}
		if out := o.sidestep(0, "release", "example.com", "--dry-run", "--config", config); strings.Count(out, " resume "+dead) != 2 {
			t.Errorf("the plan should bring back two values:\n%s", out)
		}
		out := o.sidestep(0, "release", "example.com", "--yes", "--config", config)
		if !strings.Contains(out, "every one live; no mark, copy or stamp of sidestep is left") {
			t.Errorf("release:\n%s", out)
		}
		if after := s.zone(); !slices.Equal(before, after) {
			t.Errorf("the operator had\n  %s\nand has\n  %s\nrelease said\n%s", strings.Join(before, "\n  "), strings.Join(after, "\n  "), out)
		}
	})
}

// TestReleaseBesideAnotherNode: what another node wrote a moment ago is not taken
// from it without a word, and the word is named.
func TestReleaseBesideAnotherNode(t *testing.T) {
	o := newOffice(t)
	stamp := fmt.Sprintf(`"v=1 holder=mon-2 at=%d epoch=1 seq=1 nonce=5f0c"`, time.Now().Unix())
	s := atLocal(t, []providertest.RR{rr("www", "A", "192.0.2.1"), rr("_sidestep", "TXT", stamp)})
	config := o.file("sidestep.yaml", o.config(s)) // no record set is in it any more
	before := s.zone()
	said := o.sidestep(4, "release", "example.com", "--yes", "--config", config)
	if !strings.Contains(said, "two writers: node mon-2 wrote this zone at ") || !strings.Contains(said, "or take over from it: sidestep release example.com --take-over") {
		t.Errorf("said %s", said)
	}
	if after := s.zone(); !slices.Equal(before, after) {
		t.Error("the zone was changed")
	}
	o.sidestep(0, "release", "example.com", "--yes", "--take-over", "--config", config)
	if after := strings.Join(s.zone(), "\n"); strings.Contains(after, "_sidestep") || !strings.Contains(after, "192.0.2.1") {
		t.Errorf("the zone is\n%s", after)
	}
}
