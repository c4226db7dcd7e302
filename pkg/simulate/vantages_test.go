package simulate

import (
	"strings"
	"testing"
)

// withVantages has three vantages of which two must agree. The lan of dc2 is judged
// from inside dc1 alone, so that this node, eu, does not probe it.
const withVantages = `
node: {name: n, vantage: eu}
etcd: {endpoints: ["http://127.0.0.1:2379"]}
zones: [{zone: example.com, provider: rfc2136, server: 192.0.2.53, insecure: true}]
canary: {targets: [{tcp: "198.51.100.53:53"}]}
checks:
  web: {tcp: {port: 8443}, interval: 10s, fall: 3, rise: 2, cooldown: {base: 30s}, vantages: {of: [eu, us, asia], down: 2}}
  ssh: {tcp: {port: 22}, interval: 10s, fall: 2, rise: 2}
sites:
  dc1: {signals: {wan: {check: ssh, targets: [10.1.0.1]}}, return: {after_outage: 10m}}
  dc2: {signals: {lan: {check: ssh, targets: [10.2.0.1], vantages: {of: [dc1]}}}}
scenarios: {open: {all: [dc2.lan, dc1.wan]}}
records:
  - {name: www, check: web, answers: [{value: 10.0.0.1, site: dc1}, 10.0.0.2]}
  - {name: lan, check: ssh, answers: [{value: 10.3.0.1, when: open}, 10.3.0.2]}
`

// Every expected time is worked out by hand: probes at 0, 10s, 20s …, the third
// failure in a row is a vantage's word, the second word is down, and the write
// comes 1s later. A vantage is silent 30s after it was heard last.
var vantageStories = []struct {
	name, timeline string
	want           []string
	notes          string // each line has to be among them
}{
	{"one blind vantage says that all is down", `
		1m down 10.0.0.1 from us
		1m down 10.0.0.2 from us
		1h up 10.0.0.1 from us`, nil, ""},
	{"all vantages say it where none is named", `1m down 10.0.0.1`, []string{"1m21s www live=10.0.0.2 paused=10.0.0.1"}, ""},
	{"two words of three", `
		1m down 10.0.0.1 connect/refused from us
		5m down 10.0.0.1 connect/timeout from eu
		10m up 10.0.0.1 from eu
		11m up 10.0.0.1 from us`,
		[]string{
			"5m21s www live=10.0.0.2 paused=10.0.0.1",  // eu at 5m20s; then up of eu and asia are two of three
			"11m1s www live=10.0.0.1,10.0.0.2 paused=", // eu asks after its pauses, at 10m50s and 11m
		}, ""},
	{"two words of three, and this node sees it up all the time", `
		1m down 10.0.0.1 from us
		2m down 10.0.0.1 from asia`, []string{"2m21s www live=10.0.0.2 paused=10.0.0.1"}, ""},
	{"two silent", `
		1m vantage silent us
		2m vantage silent asia
		3m down 10.0.0.1
		10m vantage back us`,
		[]string{"10m1s www live=10.0.0.2 paused=10.0.0.1"}, `
		1m30s vantage us: silent for 30s: what it said counts as unknown
		2m30s vantage asia: silent for 30s: what it said counts as unknown
		10m0s vantage us: heard again, after 9m`},
	{"what a vantage said does not outlive its silence", `
		1m down 10.0.0.1 from us
		2m vantage silent us
		5m down 10.0.0.1 from eu
		9m down 10.0.0.1 from asia`, []string{"9m21s www live=10.0.0.2 paused=10.0.0.1"}, ""},
	{"silence brings nothing back", `
		1m down 10.0.0.1
		5m vantage silent us
		5m vantage silent asia
		6m up 10.0.0.1 from eu
		9m vantage back us`, []string{"1m21s www live=10.0.0.2 paused=10.0.0.1"}, ""},
	{"unknown is no word", `
		1m unknown 10.0.0.1 from us
		1m down 10.0.0.1 from asia
		2m down 10.0.0.1 from eu`, []string{"2m21s www live=10.0.0.2 paused=10.0.0.1"}, ""},
	{"results that stay unknown take a word back", `
		1m down 10.0.0.1 from us     # it asks again at 1m50s and 2m50s
		2m unknown 10.0.0.1 from us  # which counts from 3m30s on, three intervals and a timeout later
		5m down 10.0.0.1 from asia
		9m down 10.0.0.1 from us     # it was down for us all the time`, []string{"9m1s www live=10.0.0.2 paused=10.0.0.1"}, ""},
	{"the canary of this node is this node's", `
		1m canary fail
		2m down 10.0.0.1
		6m canary ok`,
		[]string{"6m1s www live=10.0.0.2 paused=10.0.0.1"}, ""}, // known since 2m20s, and written by a node that sees
	{"a signal that only another node judges", `
		1m down dc2.lan
		5m up dc2.lan
		10m down dc2.lan from dc1`,
		[]string{
			"1m11s lan live=10.3.0.2 paused=10.3.0.1", "5m11s lan live=10.3.0.1,10.3.0.2 paused=",
			"10m11s lan live=10.3.0.2 paused=10.3.0.1",
		}, ""},
	{"the only judge falls silent", `
		1m vantage silent dc1
		2m down dc2.lan`, nil, "1m30s vantage dc1: silent"},
	{"a restart takes no word of others from the disk", `
		1m down 10.0.0.1
		5m restart
		6m vantage silent us
		6m vantage silent asia
		10m restart 20s
		20m up 10.0.0.1
		30m vantage back us`,
		[]string{"1m21s www live=10.0.0.2 paused=10.0.0.1"},
		"30m0s site dc1: waits for approval after an outage of 28m40s"},
	{"a restart while others go on", `
		1m down 10.0.0.1 from us
		5m restart 2m
		6m down 10.0.0.1 from asia`, []string{"7m1s www live=10.0.0.2 paused=10.0.0.1"}, ""},
	{"an outage is one that the vantages agree on", `
		1m down 10.0.0.1 from us
		1h down 10.0.0.1 from asia
		62m up 10.0.0.1`, []string{"1h0m21s www live=10.0.0.2 paused=10.0.0.1", "1h3m1s www live=10.0.0.1,10.0.0.2 paused="}, ""},
	{"an operator's word goes before all vantages", `
		1m override set force-up 10.0.0.1 --for 10m --reason x
		2m down 10.0.0.1
		3m drain 10.0.0.2 --for 1m --reason x`,
		[]string{"3m1s www live=10.0.0.1 paused=10.0.0.2", "4m1s www live=10.0.0.1,10.0.0.2 paused=", "11m1s www live=10.0.0.2 paused=10.0.0.1"}, ""},
}

func TestVantageStories(t *testing.T) {
	c := load(t, withVantages)
	for _, s := range vantageStories {
		t.Run(s.name, func(t *testing.T) {
			got, notes := play(t, c, s.timeline, false)
			if strings.Join(got, "\n") != strings.Join(s.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s\nnotes\n%s", strings.Join(got, "\n"), strings.Join(s.want, "\n"), strings.Join(notes, "\n"))
			}
			for line := range strings.Lines(s.notes) {
				if line = strings.TrimSpace(line); !strings.Contains(strings.Join(notes, "\n"), line) {
					t.Errorf("no note says %q:\n%s", line, strings.Join(notes, "\n"))
				}
			}
		})
	}
}

func TestVantageEventsThatMeanNothing(t *testing.T) {
	c := load(t, withVantages)
	for line, want := range map[string]string{
		"5s down 10.0.0.1 from":            "expected a vantage after from, got nothing; known: asia, dc1, eu, us",
		"5s down 10.0.0.1 from uss":        `expected a vantage of the config after from, got "uss"; did you mean "us"?`,
		"5s down 10.0.0.1 from us now":     `expected the end of the line, got "now"`,
		"5s down 10.0.0.1 from dc1":        "web@10.0.0.1 is not judged from dc1; known: eu, us, asia",
		"5s down dc1.wan from us":          "ssh@10.1.0.1 is not judged from us; this node judges it alone: add vantages to its check, or leave from out",
		"5s down dc2.lan from eu":          "ssh@10.2.0.1 is not judged from eu; known: dc1",
		"5s vantage":                       "expected silent or back, got nothing",
		"5s vantage gone us":               `expected silent or back, got "gone"`,
		"5s vantage silent":                "expected a vantage, got nothing; known: asia, dc1, eu, us",
		"5s vantage silent asai":           `expected a vantage of the config, got "asai"; did you mean "asia"?`,
		"5s vantage silent us eu":          `expected the end of the line, got "eu"`,
		"5s vantage silent eu":             "eu is this node's own vantage",
		"5s up 10.0.0.1 connect/x from us": `expected the end of the line, got "connect/x"`,
	} {
		if _, err := Parse("t", []byte(line), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", line, err, want)
		}
	}
	for _, line := range []string{"5s down dc1.wan from eu", "5s down 10.0.0.1 connect/refused from us # a comment", "5s up dc2.lan from dc1"} {
		if _, err := Parse("t", []byte(line), c); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}
