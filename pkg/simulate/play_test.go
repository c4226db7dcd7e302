package simulate

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/config"
)

// failer is what helpers need of a test.
type failer interface {
	Helper()
	Fatal(args ...any)
}

// load parses a config without reading a secret.
func load(t failer, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("sidestep.yaml", []byte(text), config.Options{SkipSecrets: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// play runs a timeline for an hour beyond its end and gives its decisions, a line
// each without the reasons, and what was said on the side.
func play(t failer, c *config.Config, timeline string, whole bool) (decisions, notes []string) {
	t.Helper()
	parsed, err := Parse("timeline", []byte(timeline), c)
	if err != nil {
		t.Fatal(err)
	}
	err = Run(context.Background(), Options{
		Config: c, Timeline: parsed, Until: parsed.End() + time.Hour, Whole: whole,
		Decision: func(d Decision) { decisions = append(decisions, d.line()) },
		Note:     func(text string) { notes = append(notes, text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return decisions, notes
}

func (d Decision) line() string {
	name, _, _ := strings.Cut(string(d.Key.Name), ".")
	line := fmt.Sprintf("%s %s", d.At, name)
	if d.Key.Type != "A" {
		line += " " + string(d.Key.Type)
	}
	line += fmt.Sprintf(" live=%s paused=%s", strings.Join(d.Live, ","), strings.Join(d.Paused, ","))
	if len(d.Weights) > 0 {
		line += fmt.Sprintf(" weights=%v", d.Weights)
	}
	return line
}

const twoServers = `
zones: [{zone: example.com, provider: rfc2136, server: 192.0.2.53, tsig: {name: k, secret: "file:/nowhere"}}]
checks: {web: {http: {url: "https://www.example.com/"}, interval: 10s, fall: 3, rise: 2}}
records: [{name: www, ttl: 60s, check: web, answers: [10.0.0.1, 10.0.0.2]}]
`

const chain = `
zones: [{zone: example.com, provider: cloudflare, api_token: "env:NOWHERE", zone_id: z1}]
checks: {web: {tcp: {port: 8443}, interval: 10s, fall: 3, rise: 3}}
records:
  - {name: www, check: web, policy: priority, answers: [10.0.0.1, 10.0.0.2, 10.0.0.3], fallback: [10.0.0.9], failback: {hold: 5m}}
`

const withCanary = `
zones: [{zone: example.com, provider: rfc2136, server: 192.0.2.53, insecure: true}]
canary: {targets: [{tcp: "198.51.100.53:53"}]}
checks: {web: {tcp: {port: 8443}, interval: 10s, fall: 3, rise: 3}}
records: [{name: www, check: web, answers: [10.0.0.1, 10.0.0.2]}]
`

const withCooldown = `
zones: [{zone: example.com, provider: rfc2136, server: 192.0.2.53, insecure: true}]
checks: {web: {tcp: {port: 8443}, interval: 10s, fall: 3, rise: 3, cooldown: {base: 30s, factor: 2, max: 2m}}}
records: [{name: www, check: web, answers: [10.0.0.1, 10.0.0.2]}]
`

const withSites = `
zones: [{zone: example.com, provider: tencentcloud, secret_id: "env:NOWHERE", secret_key: "env:NOWHERE"}]
checks:
  web: {tcp: {port: 8443}, interval: 10s, fall: 3, rise: 3, cooldown: {base: 30s}}
  data: {http: {url: "https://www.example.com/data"}, interval: 20s, fall: 1, rise: 1}
sites:
  dc1: {signals: {access: {check: web, targets: [10.0.0.1]}}, return: {after_outage: 10m, mode: fresh, check: data}}
  dc2: {signals: {access: {check: web, targets: [10.0.0.2]}, wan: {check: data, targets: [10.1.1.1, 10.1.1.2]}}, return: {after_outage: 10m}}
scenarios:
  dc2-open: {any: [{all: [dc2.access, dc2.wan]}]}
  disaster: {all: [not dc1, not dc2]}
records:
  - name: www
    check: web
    policy: priority
    answers: [{value: 10.0.0.1, site: dc1}, {value: 10.0.0.2, site: dc2, when: dc2-open}, {value: 10.0.0.3, mode: standby, when: disaster}]
    dr: {answers: [10.0.0.4], when: disaster}
  - name: eu
    variant: eu
    check: web
    policy: weighted
    answers: [{value: 10.0.0.1, site: dc1, weight: 3}, {value: 10.0.0.2, site: dc2}]
`

// Every expected time is worked out by hand from the contract: probes at 0, 10s,
// 20s …, the third failure in a row is down, the second or third pass is up, and
// the write comes at the end of the debounce, 1s.
var stories = []struct {
	name, config, timeline string
	want                   []string
}{
	{"nothing happens", twoServers, ``, nil},
	{
		"down and up", twoServers,
		`60s down 10.0.0.1       # fails at 60s, 70s, 80s
		 1m55s up 10.0.0.1       # passes at 120s, 130s`,
		[]string{"1m21s www live=10.0.0.2 paused=10.0.0.1", "2m11s www live=10.0.0.1,10.0.0.2 paused="},
	},
	{
		"a result of the moment of the event counts", twoServers,
		`0 down 10.0.0.1`,
		[]string{"21s www live=10.0.0.2 paused=10.0.0.1"},
	},
	{
		"taken back inside the debounce is not written", twoServers + "reconcile: {debounce: 15s}",
		`60s down 10.0.0.1    # down at 80s, the window ends at 95s
		 81s up 10.0.0.1      # passes at 90s and 100s: not up yet at 95s
		 5m down 10.0.0.2     # down at 320s, the window ends at 335s
		 321s up 10.0.0.2     # passes at 330s and 340s`,
		[]string{
			"1m35s www live=10.0.0.2 paused=10.0.0.1",
			"1m55s www live=10.0.0.1,10.0.0.2 paused=",
			"5m35s www live=10.0.0.1 paused=10.0.0.2",
			"5m55s www live=10.0.0.1,10.0.0.2 paused=",
		},
	},
	{
		"probes come before the write of the same moment", twoServers + "reconcile: {debounce: 10s}",
		`60s down 10.0.0.1    # down at 80s, the window ends at 90s
		 70s down 10.0.0.2    # down at 90s: nothing is usable, so the last live set is kept
		 10m up 10.0.0.2      # up at 610s`,
		[]string{"10m20s www live=10.0.0.2 paused=10.0.0.1"},
	},
	{
		"two failures are not three", twoServers,
		`60s down 10.0.0.1
		 75s up 10.0.0.1`,
		nil,
	},
	{
		"unknown leaves the counters as they are", twoServers,
		`60s down 10.0.0.1      # fails at 60s, 70s
		 75s unknown 10.0.0.1   # nothing counts
		 10m down 10.0.0.1      # fails at 600s: the third`,
		[]string{"10m1s www live=10.0.0.2 paused=10.0.0.1"},
	},
	{
		"a chain, a hold, and a fallback", chain,
		`1m down 10.0.0.1     # out at 81s
		 2m down 10.0.0.2     # out at 141s
		 3m down 10.0.0.3     # the third of three within 2m: suspected at 200s, down two failures later, at 220s
		 4m up 10.0.0.2       # up at 260s: no hold when nothing usable is live
		 5m up 10.0.0.1       # up at 320s; usable for 5m at 620s, then the debounce`,
		[]string{
			"1m21s www live=10.0.0.2 paused=10.0.0.1,10.0.0.3,10.0.0.9",
			"2m21s www live=10.0.0.3 paused=10.0.0.1,10.0.0.2,10.0.0.9",
			"3m41s www live=10.0.0.9 paused=10.0.0.1,10.0.0.2,10.0.0.3",
			"4m21s www live=10.0.0.2 paused=10.0.0.1,10.0.0.3,10.0.0.9",
			"10m21s www live=10.0.0.1 paused=10.0.0.2,10.0.0.3,10.0.0.9",
		},
	},
	{
		"a failback by hand", strings.Replace(chain, "hold: 5m", "mode: manual", 1),
		`1m down 10.0.0.1
		 2m up 10.0.0.1
		 30m approve www.example.com   # the debounce begins`,
		[]string{
			"1m21s www live=10.0.0.2 paused=10.0.0.1,10.0.0.3,10.0.0.9",
			"30m1s www live=10.0.0.1 paused=10.0.0.2,10.0.0.3,10.0.0.9",
		},
	},
	{
		"the hold goes on over a restart", chain,
		`1m down 10.0.0.1
		 2m up 10.0.0.1      # up at 140s; usable for 5m at 440s
		 5m restart 30s`,
		[]string{
			"1m21s www live=10.0.0.2 paused=10.0.0.1,10.0.0.3,10.0.0.9",
			"7m21s www live=10.0.0.1 paused=10.0.0.2,10.0.0.3,10.0.0.9",
		},
	},
	{
		"probes count from the new start", twoServers,
		`60s restart 5s       # probes at 65s, 75s …
		 2m down 10.0.0.1     # fails at 125s, 135s, 145s`,
		[]string{"2m26s www live=10.0.0.2 paused=10.0.0.1"},
	},
	{
		"failures before a restart count, and those of an old state do not", twoServers,
		`60s down 10.0.0.1    # fails at 60s, 70s
		 75s restart          # and at 75s: the third
		 10m up 10.0.0.1
		 20m down 10.0.0.1    # fails at 1205s, 1215s
		 1220s restart 16m    # older than max_age: begins anew at 2180s, down at 2200s`,
		[]string{
			"1m16s www live=10.0.0.2 paused=10.0.0.1",
			"10m16s www live=10.0.0.1,10.0.0.2 paused=",
			"36m41s www live=10.0.0.2 paused=10.0.0.1",
		},
	},
	{
		"a provider that fails is tried again after 1s, 2s, 4s, 8s, 16s, 30s, 30s", twoServers,
		`50s provider fail example.com
		 60s down 10.0.0.1    # tried at 81s, 82s, 84s, 88s, 96s, 112s, 142s, 172s
		 150s provider ok example.com`,
		[]string{"2m52s www live=10.0.0.2 paused=10.0.0.1"},
	},
	{
		"newer work does not wait for the pause of older", chain,
		`50s provider fail example.com
		 60s down 10.0.0.1    # tried at 81s … 112s, 142s, 172s
		 120s down 10.0.0.2   # down at 140s, so tried at 141s, and again at 171s
		 150s provider ok example.com`,
		[]string{"2m51s www live=10.0.0.3 paused=10.0.0.1,10.0.0.2,10.0.0.9"},
	},
	{
		"taken back while the provider fails", twoServers,
		`50s provider fail example.com
		 60s down 10.0.0.1
		 100s up 10.0.0.1
		 150s provider ok example.com`,
		nil,
	},
	{
		"without the lease nothing is written, with it at once", twoServers,
		`60s lease lost
		 60s down 10.0.0.1
		 5m lease won`,
		[]string{"5m0s www live=10.0.0.2 paused=10.0.0.1"},
	},
	{
		"the canary is asked at once", withCanary,
		`60s down 10.0.0.1`,
		[]string{"1m21s www live=10.0.0.2 paused=10.0.0.1"},
	},
	{
		"a target waits for the canary", withCanary,
		`60s down 10.0.0.1
		 80s canary fail      # fails at 80s, and at 85s: blind
		 5m canary ok         # what was seen since its pass at 75s is forgotten: the third failure is that of 300s
		 `,
		[]string{"5m1s www live=10.0.0.2 paused=10.0.0.1"},
	},
	{
		"one bad round of the canary is no blindness", withCanary,
		`60s down 10.0.0.1
		 80s canary fail      # fails at 80s
		 82s canary ok        # passes at 85s, after the last of the failures`,
		[]string{"1m26s www live=10.0.0.2 paused=10.0.0.1"},
	},
	{
		"nothing is written while the canary fails", withCanary,
		`59s canary fail       # fails at 60s, and at 65s
		 60s down 10.0.0.1
		 60s down 10.0.0.2
		 10m canary ok
		 10m up 10.0.0.1
		 10m up 10.0.0.2`,
		nil,
	},
	{
		"a dead target is left alone for growing pauses", withCooldown,
		`60s down 10.0.0.1      # down at 80s; asked at 110s, 170s (+60s), 290s (+120s), 410s (+120s)
		 300s up 10.0.0.1       # passes at 410s, 420s, 430s`,
		[]string{"1m21s www live=10.0.0.2 paused=10.0.0.1", "7m11s www live=10.0.0.1,10.0.0.2 paused="},
	},
	{
		"a long pause is over long after the event before it", strings.Replace(withCooldown, "base: 30s, factor: 2, max: 2m", "base: 1h, max: 1h", 1) + "guard: {mass: 0}",
		`60s down 10.0.0.1      # down at 80s; asked at 1h1m20s, 1h1m30s, 1h1m40s
		 90s up 10.0.0.1
		 2h up 10.0.0.2`,
		[]string{"1m21s www live=10.0.0.2 paused=10.0.0.1", "1h1m41s www live=10.0.0.1,10.0.0.2 paused="},
	},
	{
		"the rhythm of long pauses is kept for hours", withCooldown,
		`60s down 10.0.0.1      # asked at 110s, 170s, 290s, and every 120s, so at 10850s
		 3h up 10.0.0.1         # passes at 10850s, 10860s, 10870s`,
		[]string{"1m21s www live=10.0.0.2 paused=10.0.0.1", "3h1m11s www live=10.0.0.1,10.0.0.2 paused="},
	},
	{
		"where nothing is usable targets are asked at their interval", withCooldown,
		`60s down 10.0.0.1      # down at 80s, left alone until 110s, then until 170s
		 110s down 10.0.0.2     # down at 130s: nothing is usable; both are asked at 140s, 150s …
		 145s up 10.0.0.1       # passes at 150s, 160s, 170s`,
		[]string{
			"1m21s www live=10.0.0.2 paused=10.0.0.1",
			"2m51s www live=10.0.0.1 paused=10.0.0.2",
		},
	},
	{
		"a pause goes on over a restart", withCooldown,
		`60s down 10.0.0.1      # down at 80s, left alone until 110s
		 81s up 10.0.0.1
		 85s restart 5s         # probes at 90s …, and of this target at 110s, 120s, 130s
		 `,
		[]string{"1m21s www live=10.0.0.2 paused=10.0.0.1", "2m11s www live=10.0.0.1,10.0.0.2 paused="},
	},
	{
		"after a restart, too, nothing usable means the interval", withCooldown,
		`60s down 10.0.0.1
		 60s down 10.0.0.2      # both down at 80s: nothing is usable
		 95s restart            # asked at 95s, 105s …
		 100s up 10.0.0.1       # passes at 105s, 115s, 125s
		 `,
		[]string{"2m6s www live=10.0.0.1 paused=10.0.0.2"},
	},
	{
		"a drain, and its end", twoServers,
		`5m drain 10.0.0.1 --for 10m --reason "new kernel"`,
		[]string{"5m1s www live=10.0.0.2 paused=10.0.0.1", "15m1s www live=10.0.0.1,10.0.0.2 paused="},
	},
	{
		"a drain that begins later, and is taken back", twoServers,
		`0  drain 10.0.0.1 --at 10m --for 1h --reason later
		 0  override set drain 10.0.0.2 --at "2000-01-01 03:00" --for 1h --reason night
		 20m undrain 10.0.0.1
		 3h override clear 10.0.0.2   # at the moment at which it begins`,
		[]string{"10m1s www live=10.0.0.2 paused=10.0.0.1", "20m1s www live=10.0.0.1,10.0.0.2 paused="},
	},
	{
		"drains leave the last answer", twoServers,
		`5m drain 10.0.0.1 --for 1h --reason a
		 10m drain 10.0.0.2 --for 10m --reason b`,
		[]string{"5m1s www live=10.0.0.2 paused=10.0.0.1", "1h5m1s www live=10.0.0.1,10.0.0.2 paused="},
	},
	{
		"a pin, and a freeze", chain,
		`5m override set pin www 10.0.0.3 --for 10m --reason test
		 20m freeze --for 10m --reason wait
		 21m down 10.0.0.1       # down at 21m20s, written after the freeze
		 40m freeze www.example.com --for forever --reason wait
		 41m override set force-down 10.0.0.2 --for 1h --reason disk
		 50m unfreeze www        # and back at 1h41m0s, after a hold of 5m`,
		[]string{
			"5m1s www live=10.0.0.3 paused=10.0.0.1,10.0.0.2,10.0.0.9",
			"15m1s www live=10.0.0.1 paused=10.0.0.2,10.0.0.3,10.0.0.9",
			"30m1s www live=10.0.0.2 paused=10.0.0.1,10.0.0.3,10.0.0.9",
			"50m1s www live=10.0.0.3 paused=10.0.0.1,10.0.0.2,10.0.0.9",
			"1h46m1s www live=10.0.0.2 paused=10.0.0.1,10.0.0.3,10.0.0.9",
		},
	},
	{
		"a word while no process runs is taken up by the next", twoServers,
		`60s restart 5m
		 2m drain 10.0.0.1 --for 10m --reason x   # in force from the start at 6m
		 30m drain 10.0.0.2 --for 1h --reason y
		 31m restart 10m                          # and at any age
		 35m undrain 10.0.0.2`,
		[]string{
			"6m1s www live=10.0.0.2 paused=10.0.0.1", "12m1s www live=10.0.0.1,10.0.0.2 paused=",
			"30m1s www live=10.0.0.1 paused=10.0.0.2", "41m1s www live=10.0.0.1,10.0.0.2 paused=",
		},
	},
	{
		"force-up goes before the probes", twoServers,
		`1m override set force-up web@10.0.0.1 --for 30m --reason lies
		 2m down 10.0.0.1`,
		[]string{"31m1s www live=10.0.0.2 paused=10.0.0.1"},
	},
	{
		"many at once are suspected first, and a pass clears", chain,
		`1m down 10.0.0.1        # suspected at 80s, with the other two; down at 100s
		 1m down 10.0.0.2        # the same
		 1m down 10.0.0.3        # passes at 90s
		 85s up 10.0.0.3`,
		[]string{"1m41s www live=10.0.0.3 paused=10.0.0.1,10.0.0.2,10.0.0.9"},
	},
	{
		"a fresh check, weights, and a disaster", withSites,
		`10m down web@10.0.0.1    # down at 10m20s, left alone until 10m50s, then 60s, then 120s at a time
		 10m down data@10.0.0.1
		 20m up web@10.0.0.1      # probes at 10m50s, 11m50s, 13m50s, … 19m50s, 21m50s, 22m0s, 22m10s: up, after 11m50s
		 40m up data@10.0.0.1     # passes at 40m0s: fresh; www has its hold until 45m
		 1h down dc2.wan          # down at once, at 1h0m0s: the standby is not called, nothing else changes for www
		 2h down web@10.0.0.1     # down at 2h0m20s: dc1 is not ok, and dc2 is not either`,
		[]string{
			"10m21s eu live=10.0.0.2 paused=10.0.0.1 weights=map[10.0.0.2:1]",
			"10m21s www live=10.0.0.2 paused=10.0.0.1,10.0.0.3,10.0.0.4",
			"40m1s eu live=10.0.0.1,10.0.0.2 paused= weights=map[10.0.0.1:3 10.0.0.2:1]",
			"45m1s www live=10.0.0.1 paused=10.0.0.2,10.0.0.3,10.0.0.4",
			"2h0m21s eu live=10.0.0.2 paused=10.0.0.1 weights=map[10.0.0.2:1]",
			"2h0m21s www live=10.0.0.4 paused=10.0.0.1,10.0.0.2,10.0.0.3",
		},
	},
	{
		"a year", chain,
		`4380h down 10.0.0.1
		 8760h up 10.0.0.1`,
		[]string{
			"4380h0m21s www live=10.0.0.2 paused=10.0.0.1,10.0.0.3,10.0.0.9",
			"8760h5m21s www live=10.0.0.1 paused=10.0.0.2,10.0.0.3,10.0.0.9",
		},
	},
}

func TestStories(t *testing.T) {
	for _, s := range stories {
		t.Run(strings.ReplaceAll(s.name, " ", "_"), func(t *testing.T) {
			got, notes := play(t, load(t, s.config), s.timeline, false)
			if strings.Join(got, "\n") != strings.Join(s.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s\nnotes\n%s", strings.Join(got, "\n"), strings.Join(s.want, "\n"), strings.Join(notes, "\n"))
			}
		})
	}
}
