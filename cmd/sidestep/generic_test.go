package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/lab"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
	"sidestep/providers/ovh/ovhtest"
)

// TestFailoverThroughLibdns is a failover, a return and a release at a provider
// that is reached through its libdns module, and so with reduced promises: every
// record with its attributes is what it was, and the name is never empty.
func TestFailoverThroughLibdns(t *testing.T) {
	t.Parallel()
	fake := ovhtest.Start(t, "example.com.")
	hand := fake.Hand(nil)
	w := &world{t: t, interval: 400 * time.Millisecond, dir: shortDir(t)}
	w.config = filepath.Join(w.dir, "sidestep.yaml")
	w.startBackends(2)
	a, b := ip(w.backends[0]), ip(w.backends[1])
	for _, rr := range []providertest.RR{
		{Name: "www.example.com.", Type: "A", TTL: 120 * time.Second, Data: a},
		{Name: "www.example.com.", Type: "A", TTL: 300 * time.Second, Data: b},
		{Name: "www.example.com.", Type: "TXT", TTL: time.Minute, Data: `"beside the addresses"`},
		{Name: "example.com.", Type: "MX", TTL: time.Hour, Data: "10 mx.example.net."},
	} {
		hand.Put(rr)
	}
	before := fake.Attributes()
	w.writeGeneric(fake)
	if code, out, errOut := w.sidestep("validate"); code != 0 || !strings.Contains(out+errOut, "reduced promises") {
		t.Fatalf("validate: exit %d\n%s%s", code, out, errOut)
	}

	live := func() []string {
		return hand.Live(record.Key{Zone: "example.com.", Name: "www.example.com.", Type: record.A})
	}
	wait := func(want ...string) {
		slices.Sort(want)
		w.wait(fmt.Sprintf("www to answer with %v", want), func() bool {
			now := live()
			if len(now) == 0 {
				t.Fatal("www answers with nothing")
			}
			return slices.Equal(now, want)
		})
	}
	p := w.run()
	w.waitUp(2)
	if err := w.backends[0].Break(lab.Refuse); err != nil {
		t.Fatal(err)
	}
	wait(b)
	p.kill()
	if err := os.RemoveAll(w.state()); err != nil {
		t.Fatal(err)
	}
	p = w.run()
	if err := w.backends[0].Mend(); err != nil {
		t.Fatal(err)
	}
	wait(a, b)
	w.waitUp(2)
	if code := p.stop(t); code != 0 {
		t.Errorf("sidestep ended with %d after SIGTERM", code)
	}
	kept := slices.DeleteFunc(fake.Attributes(), func(line string) bool { return strings.HasPrefix(line, "_sidestep-paused.www ") })
	if !slices.Equal(kept, before) {
		t.Errorf("the zone has\n%s\nit had\n%s", strings.Join(kept, "\n"), strings.Join(before, "\n"))
	}
	if code, out, errOut := w.sidestep("release", "example.com", "--yes"); code != 0 {
		t.Errorf("release: exit %d\n%s%s", code, out, errOut)
	}
	if after := fake.Attributes(); !slices.Equal(after, before) {
		t.Errorf("after the release the zone has\n%s\nit had\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
	t.Logf("history of the zone:\n%s", strings.Join(fake.History(), "\n"))
}

// writeGeneric makes a config whose assumptions about the vendor's lateness are
// true of a fake.
func (w *world) writeGeneric(fake *ovhtest.Fake) {
	w.t.Helper()
	_, port, err := net.SplitHostPort(w.backends[0].Addr())
	if err != nil {
		w.t.Fatal(err)
	}
	text := fmt.Sprintf(`node: {name: mon-1}
state: {dir: %s}
control: {socket: %s}
reconcile: {debounce: 100ms, retry: {base: 200ms, max: 1s}}
leader: {lock: none, i_am_alone: true}
adopt: auto
zones:
  - zone: example.com
    late: 300ms
    lag: 200ms
    verify: {dns: false}
    %s
checks:
  web: {tcp: {port: %s}, interval: %s, timeout: 300ms, fall: 3, rise: 2}
records:
  - {name: www.example.com, check: web, answers: [%s, %s]}
`, w.state(), w.socket(), strings.ReplaceAll(strings.TrimSpace(fake.Keys()), "\n", "\n    "), port, w.interval, ip(w.backends[0]), ip(w.backends[1]))
	if err := os.WriteFile(w.config, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}
