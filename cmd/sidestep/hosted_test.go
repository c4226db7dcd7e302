package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/provider/providertest"
)

// hosted is a provider with an HTTP API. A further one is a line in the table of
// them.
type hosted struct {
	name string

	// start makes a zone example.com in which www.example.com answers with some
	// addresses, among records of all kinds that are nobody's business.
	start func(t *testing.T, live ...string) *cloud

	// kind names a request: "list", "write".
	kind func(httpfake.Request) string

	// promise are the requests of one switch of an answer by a sidestep that
	// holds the zone: what a failover costs. Those of free are not counted: how
	// many it takes depends on how soon a list shows what was written.
	promise string
	free    []string

	// tidy takes out of a zone what a call that was cut off leaves in it for the
	// next one; nil where there is no such thing.
	tidy func(zone string) string

	// revoked is how the API answers a credential that is good no more.
	revoked httpfake.Fault
}

// cloud is the API of one provider with the zone example.com.
type cloud struct {
	url        string            // of the API, as it stands in keys
	keys       string            // config of the zone, a key a line
	env        map[string]string // what the keys refer to
	hand       providertest.Hand
	attributes func() []string // every record with all that it has but ids and times, sorted
	history    func() []string // every change, in order
	answers    []string        // what the zone may answer with, set by who steers it

	mu   sync.Mutex
	seen []string // attributes since the last request; nil when one came after
}

// all is attributes, asked for once after each request: all changes come by one.
func (c *cloud) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = c.attributes()
	}
	return slices.Clone(c.seen)
}

// changed says that a request was carried out.
func (c *cloud) changed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = nil
}

// moments are times in remarks and comments.
var moments = regexp.MustCompile(`20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z`)

// zoneNow is all that the zone holds, but for the stamp, which is new after
// every write, and times.
func (c *cloud) zoneNow() string {
	lines := slices.DeleteFunc(c.all(), func(line string) bool { return strings.Contains(line, " nonce=") })
	return moments.ReplaceAllString(strings.Join(lines, "\n"), "TIME")
}

// differences are the lines that only one of two zones has.
func differences(got, want string) string {
	var out []string
	only := func(sign, these, those string) {
		left := strings.Split(those, "\n")
		for line := range strings.SplitSeq(these, "\n") {
			if i := slices.Index(left, line); i >= 0 {
				left = slices.Delete(left, i, i+1)
			} else {
				out = append(out, sign+line)
			}
		}
	}
	only("+ ", got, want)
	only("- ", want, got)
	return strings.Join(out, "\n")
}

func (c *cloud) live() string { return strings.Join(c.hand.Live(steeredKey), " ") }

// pace is how fast a sidestep of a test goes.
type pace struct {
	interval, debounce time.Duration
}

// configFor is a config by which sidestep steers www.example.com between the
// answers of a cloud, the first of them if it can. The kernel takes and refuses
// the connections of a TCP check, however busy the machine is.
func (c *cloud) configFor(dir string, p pace, port string, f *front) string {
	keys := strings.ReplaceAll(strings.ReplaceAll(c.keys, c.url, f.URL), "\n", "\n    ")
	return fmt.Sprintf(`node: {name: walker}
state: {dir: %[1]s/state}
control: {socket: %[1]s/c.sock}
adopt: auto
reconcile: {debounce: %[2]s, retry: {base: 100ms, max: 400ms}}
guard: {mass: 0, max_writes: 0}
zones:
  - zone: example.com
    verify: {dns: false}
    %[3]s
checks:
  web: {tcp: {port: %[4]s}, interval: %[5]s, timeout: %[6]s, fall: 2, rise: 2}
records:
  - {name: www.example.com, policy: priority, check: web, failback: {hold: 0s}, answers: [%[7]s]}
`, dir, p.debounce, strings.TrimSpace(keys), port, p.interval, p.interval*9/10, strings.Join(c.answers, ", "))
}

// environ is the environment of a sidestep that steers the cloud's zone.
func (c *cloud) environ() []string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		env = append(env, name+"="+c.env[name])
	}
	return env
}
