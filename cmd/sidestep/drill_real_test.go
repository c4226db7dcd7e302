package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"sidestep/pkg/lab"
	"sidestep/providers/rfc2136/rfc2136test"
)

// TestDrillThroughRealServers rehearses with a zone on BIND, watched through unbound,
// and again while the drain of a drill that was killed is in force.
func TestDrillThroughRealServers(t *testing.T) {
	t.Parallel()
	w, _ := newBackends(t)
	w.server = rfc2136test.StartBIND(t, rfc2136test.Zone{Name: "example.com.", Text: zoneText + "www 1 IN A " + ip(w.backends[0]) + "\n"})
	resolver := rfc2136test.StartUnbound(t, w.server.Addr)
	w.extra = "adopt: auto"
	key := w.server.Key
	w.zone = fmt.Sprintf("provider: rfc2136\nserver: %s\ntsig: {name: %s, algorithm: %s, secret: %s}\nverify: {servers: [%q]}\n",
		w.server.Addr, key.Name, key.Algorithm, key.Secret, w.server.Addr)
	w.write()
	text, err := os.ReadFile(w.config)
	if err != nil {
		t.Fatal(err)
	}
	priority := strings.Replace(string(text), "ttl: 60s,", "ttl: 1s, policy: priority, failback: {hold: 500ms},", 1)
	writeAll(t, w.dir, map[string]string{"sidestep.yaml": priority})
	w.run()
	w.waitUp(2)
	w.wait("the name to be settled", func() bool {
		s := w.mustStatus()
		return s.Records[0].Listed && len(s.Records[0].Pending) == 0 && s.Records[0].HoldEnds == nil && len(s.Records[0].Live) == 1
	})

	drill := []string{"drill", "www", "--resolver", resolver.Addr, "--identity", "header:" + lab.IdentityHeader, "--json"}
	code, out, errOut := w.sidestep(drill...)
	var answer struct {
		Held bool
		Ways []struct {
			To     []string
			Clocks []struct {
				Clock string
				After *float64 `json:"after_ms"`
				Never bool     `json:"never_left"`
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || code != 0 || !answer.Held || len(answer.Ways) != 2 {
		t.Fatalf("exited with %d, %v:\n%s%s", code, err, out, errOut)
	}
	for i, way := range answer.Ways {
		if way.To[0] != ip(w.backends[1-i]) {
			t.Errorf("the way leads to %v", way.To)
		}
		for _, c := range way.Clocks {
			if c.After == nil || c.Never {
				t.Errorf("%s of way %d: %+v", c.Clock, i, c)
			}
		}
	}

	if code, out, errOut := w.sidestep("drain", ip(w.backends[0]), "--for", "10m", "--reason", "drill www.example.com (0123abcd)"); code != 0 {
		t.Fatalf("exited with %d:\n%s%s", code, out, errOut)
	}
	w.waitLive(ip(w.backends[1]))
	code, _, errOut = w.sidestep(drill...)
	if code != 3 || !strings.Contains(errOut, "the drain of "+ip(w.backends[0])+" by another drill is in force until ") || !strings.Contains(errOut, "sidestep undrain "+ip(w.backends[0])) {
		t.Errorf("exited with %d:\n%s", code, errOut)
	}
}
