package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/lab"
	"sidestep/providers/rfc2136/rfc2136test"
)

// verification is what explain says of the last write of www; nil for nothing yet.
func (w *world) verification() *control.Verification {
	w.t.Helper()
	code, out, errOut := w.sidestep("explain", "www.example.com", "--json")
	var e control.Explanation
	if err := json.Unmarshal([]byte(out), &e); code != 0 || err != nil || len(e.Records) != 1 {
		w.t.Fatalf("explain exited with %d, %v:\n%s%s", code, err, out, errOut)
	}
	return e.Records[0].Verification
}

// decides is what rto works out for the time until the primary has the other
// answer: all but what resolvers keep.
func (w *world) decides() (best, worst time.Duration) {
	w.t.Helper()
	type span struct{ Best, Worst string }
	var answer struct {
		Records []struct {
			span
			Parts map[string]span
		}
	}
	code, out, errOut := w.sidestep("rto", "--json")
	if err := json.Unmarshal([]byte(out), &answer); code != 0 || err != nil || len(answer.Records) != 1 {
		w.t.Fatalf("rto exited with %d, %v:\n%s%s", code, err, out, errOut)
	}
	r := answer.Records[0]
	read := func(text string) time.Duration {
		d, err := time.ParseDuration(text)
		if err != nil {
			w.t.Fatal(err)
		}
		return d
	}
	return read(r.Best) - read(r.Parts["ttl"].Best), read(r.Worst) - read(r.Parts["ttl"].Worst)
}

var anyNumber = regexp.MustCompile(`\b[0-9][0-9a-z.:]*`)

// numberless is a text in which one number, time or address is like another, and
// so is the space between words.
func numberless(text string) string {
	return strings.Join(strings.Fields(anyNumber.ReplaceAllString(text, "N")), " ")
}

// TestLateSecondary writes to a primary whose secondary learns of it late: the
// secondary is named as long as it lags, and afterwards with its delay, out of which
// the arithmetic learns. The next write waits for none of that.
func TestLateSecondary(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rfc2136test.StartBIND)
	secondary := rfc2136test.StartBINDSecondary(t, w.server)
	key := w.server.Key
	w.zone = fmt.Sprintf("provider: rfc2136\nserver: %s\ntsig: {name: %s, algorithm: %s, secret: %s}\nverify: {servers: [%q, %q]}\n",
		w.server.Addr, key.Name, key.Algorithm, key.Secret, w.server.Addr, secondary.Addr)
	w.write()
	w.run()
	w.waitUp(2)

	best, worst := w.decides()
	died := time.Now()
	if err := w.backends[0].Break(lab.Refuse); err != nil {
		t.Fatal(err)
	}
	w.waitLive(ip(w.backends[1]))
	if took := time.Since(died); took < best || took > worst {
		t.Errorf("the failover took %s, worked out were %s to %s", took, best, worst)
	}
	written := time.Now()
	if err := w.backends[0].Mend(); err != nil {
		t.Fatal(err)
	}
	w.wait("the next write, which waits for no secondary", func() bool { return len(w.live()) == 2 })
	if err := w.backends[0].Break(lab.Refuse); err != nil {
		t.Fatal(err)
	}
	w.waitLive(ip(w.backends[1]))

	late := fmt.Sprintf("ask %s for www.example.com. A: expected %s, got %s, %s", secondary.Addr, ip(w.backends[1]), ip(w.backends[0]), ip(w.backends[1]))
	w.wait("the secondary to be named", func() bool {
		v := w.verification()
		return v != nil && !v.Verified && v.Detail == late && v.AskedUntil != nil
	})
	if v := w.verification(); len(v.Servers) != 2 || !v.Servers[0].Verified || v.Servers[1].Verified || v.Servers[1].Server != secondary.Addr {
		t.Errorf("got %+v", v)
	}
	if _, out, _ := w.sidestep("status"); !strings.Contains(out, "example.com. the last write is not verified, as asked ") || !strings.Contains(out, late) {
		t.Errorf("status does not name the secondary:\n%s", out)
	}

	if _, out, _ := w.sidestep("explain", "www.example.com"); !regexp.MustCompile(`\n +asked on +until `).MatchString(out) {
		t.Errorf("explain does not say that it is asked on:\n%s", out)
	}

	secondary.Notify()
	told := time.Since(written)
	w.wait("the secondary to have come round", func() bool {
		v := w.verification()
		return v != nil && v.Verified
	})
	v := w.verification()
	if took := v.Servers[1].TookMS; len(v.Servers) != 2 || took == nil || *took < 1_000 || *took > float64((told+patience).Milliseconds()) || *v.Servers[0].TookMS >= *took {
		t.Errorf("got %+v", v.Servers)
	}
	_, out, _ := w.sidestep("explain", "www.example.com")
	promised := between(t, readme(t), "IPv4 and IPv6 unless `zones[].verify.servers` names others, until each answers so:\n", "\nOne that lags is named and asked on; no write waits for it, and `sidestep rto`")
	if !strings.Contains(numberless(out), numberless(promised)) || !strings.Contains(out, "s: "+secondary.Addr+"\n") {
		t.Errorf("explain does not say how late the secondary was, as the README shows:\n%s", out)
	}
	_, out, _ = w.sidestep("rto", "www.example.com")
	if !strings.Contains(out, "to the last name server, measured ") || !strings.Contains(out, "list and calls, measured ") {
		t.Errorf("rto has not learned:\n%s", out)
	}
}
