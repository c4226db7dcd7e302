package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/lease"
	"sidestep/pkg/lease/etcd/etcdtest"
	"sidestep/pkg/provider/providertest"
)

// takeoverLease is that of the nodes whose take-over is timed.
const takeoverLease = 10 * time.Second

// takeover is what a take-over at a provider is held to.
type takeover struct {
	provider string
	late     time.Duration // how late a call may take effect there; 0 for what the provider promises
}

// bounds are what validate says of a take-over: within which time the leader is
// replaced, and how long the next one takes nothing away; 0 where it need not wait.
func bounds(t *testing.T, m *member) (replaced, away time.Duration) {
	t.Helper()
	code, out, errOut := m.sidestep("validate")
	if code != 0 {
		t.Fatalf("validate exited with %d:\n%s%s", code, out, errOut)
	}
	find := func(pattern string) time.Duration {
		found := regexp.MustCompile(pattern).FindStringSubmatch(out)
		if found == nil {
			return 0
		}
		d, err := time.ParseDuration(found[1])
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if replaced = find(`a leader that dies is replaced within ([0-9a-z.]+)`); replaced == 0 {
		t.Fatalf("validate does not say when a leader is replaced:\n%s", out)
	}
	return replaced, find(`takes nothing away[^;]* for ([0-9a-z.]+)`)
}

// led is when a node began to lead, by its log.
func (m *member) led() (at time.Time) {
	m.t.Helper()
	for line := range strings.Lines(m.log.String()) {
		var said struct {
			Message string    `json:"message"`
			Time    time.Time `json:"time"`
		}
		if json.Unmarshal([]byte(line), &said) == nil && said.Message == "leader" {
			at = said.Time
		}
	}
	if at.IsZero() {
		m.t.Fatalf("%s never said that it leads", m.config)
	}
	return at
}

// TestTakeOverSpeed kills the leader, while the first answer dies, and times what the
// other node does beside what validate says of it; the leader's disk is not needed.
// Nothing is earlier than it may be, and nothing much later. SIDESTEP_TAKEOVER_TARGETS more targets are probed by both,
// in names of ten answers.
func TestTakeOverSpeed(t *testing.T) {
	t.Parallel()
	together(t, map[string]takeover{
		"fenced":   {provider: "cloudflare"},
		"unfenced": {provider: "powerdns", late: 5 * time.Second},
	}, func(t *testing.T, c takeover) { c.run(t) })
}

func (c takeover) run(t *testing.T) {
	t.Helper()
	h := hostedNamed(c.provider)
	start, more := h.start, moreTargets(t)
	h.start = func(t *testing.T, live ...string) *cloud {
		t.Helper()
		api := start(t, live...)
		if c.late > 0 {
			api.keys = regexp.MustCompile(`late: \S+`).ReplaceAllString(api.keys, "late: "+c.late.String())
		}
		more.put(api.hand)
		return api
	}
	p := startDuoAt(t, h, 2, etcdtest.Start(t, etcdtest.Options{}), takeoverLease.String(), more.edits...)
	second := p.nodes[1]
	replaced, wait := bounds(t, second)
	safe := time.Duration(0)
	if c.late > 0 {
		safe = lease.Wait{TTL: takeoverLease, Late: c.late}.Least()
	}
	if wait < safe {
		t.Errorf("validate says that %v is safe, where %v is the least", wait, safe)
	}
	before, died := p.writes(1), time.Now()
	p.nodes[0].kill()
	p.breakFirst()
	p.silent(1, before) // the lease runs still
	var added time.Time
	p.wait("the second answer to come, alone only where nothing waits", func() bool {
		added = time.Now()
		live := p.live()
		return strings.Contains(live, ip(p.backends[1])) && (c.late == 0 || strings.Contains(live, ip(p.backends[0])))
	})
	var taken time.Time
	p.wait("the first answer to go", func() bool { taken = time.Now(); return p.live() == ip(p.backends[1]) })
	led := second.led()
	t.Logf("%s, %d targets: leads %.1fs after the leader died, adds after %.1fs, takes away after %.1fs, which is %.1fs after it led; "+
		"validate says: replaced within %v, takes nothing away for %v", c.provider, 2+more.count,
		led.Sub(died).Seconds(), added.Sub(died).Seconds(), taken.Sub(died).Seconds(), taken.Sub(led).Seconds(), replaced, wait)

	const slack = 3 // of a busy machine, and for one plan
	least := takeoverLease - lease.Interval(takeoverLease)
	for what, timed := range map[string]struct{ took, least, most time.Duration }{
		"leads after the other one died":      {led.Sub(died), least - time.Second/10, slack * replaced},
		"adds after it led":                   {added.Sub(led), 0, slack * takeoverLease},
		"takes away after it led":             {taken.Sub(led), safe, wait + slack*takeoverLease},
		"takes away after the other one died": {taken.Sub(died), least + safe, slack * (replaced + wait)},
	} {
		if timed.took < timed.least || timed.took > timed.most {
			t.Errorf("%s: %v, expected %v to %v", what, timed.took, timed.least, timed.most)
		}
	}
	if l := second.mustStatus().Leader; l.Until == nil || time.Until(*l.Until) > takeoverLease {
		t.Errorf("the leader believes until %v, expected a time within the lease", l.Until)
	}
}

// crowd is many targets beside those that a test is about.
type crowd struct {
	count int
	edits []string // of the config
	names map[string][]string
}

// moreTargets listens at all addresses of 127.1/16.
func moreTargets(t *testing.T) crowd {
	t.Helper()
	c := crowd{names: map[string][]string{}}
	if c.count, _ = strconv.Atoi(os.Getenv("SIDESTEP_TAKEOVER_TARGETS")); c.count == 0 {
		return c
	}
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for i := range c.count {
		name := fmt.Sprintf("n%d.example.com.", i/10)
		c.names[name] = append(c.names[name], fmt.Sprintf("127.1.%d.%d", i/250, i%250+1))
	}
	records := "records:\n"
	for name, values := range c.names {
		records += fmt.Sprintf("  - {name: %s, check: many, answers: [%s]}\n", name, strings.Join(values, ", "))
	}
	c.edits = []string{"records:\n", records, "checks:\n", fmt.Sprintf("checks:\n  many: {tcp: {port: %s}, interval: 5s, timeout: 4s}\n", port)}
	return c
}

func (c crowd) put(hand providertest.Hand) {
	for name, values := range c.names {
		for _, value := range values {
			hand.Put(providertest.RR{Name: name, Type: "A", TTL: 2 * time.Minute, Data: value})
		}
	}
}
