package simulate

import (
	"strings"
	"testing"
)

const oneSite = `
zones: [{zone: example.com, provider: rfc2136, server: 192.0.2.53, insecure: true}]
checks: {web: {tcp: {port: 443}, interval: 10s, fall: 3, rise: 3}}
sites: {dc1: {signals: {wan: {check: web, targets: [10.0.1.9]}}, return: {after_outage: 5m, mode: approve}}}
records: [{name: www, check: web, answers: [{value: 10.0.0.1, site: dc1}, {value: 10.0.0.2, site: dc1}, 10.0.0.4]}]
`

// A drain is planned, whatever it is a drain of: what goes down under it is no
// outage of its site, and the site waits for nobody afterwards.
func TestADrainIsNoOutage(t *testing.T) {
	for _, target := range []string{"10.0.0.1", "web@10.0.0.1"} {
		got, notes := play(t, load(t, oneSite), `
			1m drain `+target+` --for 1h --reason kernel
			2m down 10.0.0.1       # the planned reboot
			10m up 10.0.0.1
			20m undrain `+target, false)
		want := "1m1s www live=10.0.0.2,10.0.0.4 paused=10.0.0.1\n20m1s www live=10.0.0.1,10.0.0.2,10.0.0.4 paused="
		if strings.Join(got, "\n") != want {
			t.Errorf("drain %s: got\n%s\nwant\n%s\nnotes\n%s", target, strings.Join(got, "\n"), want, strings.Join(notes, "\n"))
		}
	}
	// Down from 30s to 50s and from 6m40s on; in between it is drained.
	got, _ := play(t, load(t, oneSite), `
		10s down 10.0.0.1         # down at 30s
		50s drain 10.0.0.1 --for 350s --reason kernel
		8m up 10.0.0.1            # up at 8m20s, after an outage of 20s and 100s`, false)
	if want := "31s www live=10.0.0.2,10.0.0.4 paused=10.0.0.1\n8m21s www live=10.0.0.1,10.0.0.2,10.0.0.4 paused="; strings.Join(got, "\n") != want {
		t.Errorf("a drain within an outage: got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	// What is forced down is treated as failed, and that is an outage.
	_, notes := play(t, load(t, oneSite), `
		1m override set force-down 10.0.0.1 --for 1h --reason test
		2m down 10.0.0.1
		10m up 10.0.0.1`, false)
	if !strings.Contains(strings.Join(notes, "\n"), "dc1: waits for approval after an outage of 8m0s") {
		t.Errorf("an outage under a force-down is forgotten:\n%s", strings.Join(notes, "\n"))
	}
}

// The guard against mass failures counts what went down before a restart.
func TestMassOutlivesARestart(t *testing.T) {
	c := load(t, `
zones: [{zone: example.com, provider: rfc2136, server: 192.0.2.53, insecure: true}]
checks: {web: {tcp: {port: 443}, interval: 10s, fall: 3, rise: 3}}
records: [{name: www, check: web, answers: [10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4]}]
`)
	got, notes := play(t, c, `
		5s down 10.0.0.1
		5s down 10.0.0.2      # both down at 30s
		35s restart           # probes at 35s, 45s …
		41s down 10.0.0.3     # fails at 45s, 55s, 65s: the third of four within 2m; two more by 85s`, false)
	want := "31s www live=10.0.0.3,10.0.0.4 paused=10.0.0.1,10.0.0.2\n1m26s www live=10.0.0.4 paused=10.0.0.1,10.0.0.2,10.0.0.3"
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s\nnotes\n%s", strings.Join(got, "\n"), want, strings.Join(notes, "\n"))
	}
}

// A drain that began and ended while no process ran breaks a hold all the same.
func TestADrainWhileNobodyRanBreaksTheHold(t *testing.T) {
	got, _ := play(t, load(t, chain), `
		5s down 10.0.0.1
		55s up 10.0.0.1       # up at 80s
		100s override set drain 10.0.0.1 --at 150s --for 10s --reason test
		140s restart 40s      # usable without a break since 160s: due at 460s`, false)
	if last := got[len(got)-1]; last != "7m41s www live=10.0.0.1 paused=10.0.0.2,10.0.0.3,10.0.0.9" {
		t.Errorf("got %s", last)
	}
}
