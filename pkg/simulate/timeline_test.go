package simulate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// Each line is refused with its number, what was expected, and what would do.
func TestParseRefuses(t *testing.T) {
	c := load(t, twoServers)
	for line, want := range map[string]string{
		"soon down 10.0.0.1":                           `expected a duration such as 90s or 1h30m, or a number of seconds, got "soon"`,
		"-5s down 10.0.0.1":                            `expected a duration of 0 or more, got "-5s"`,
		"200000h down 10.0.0.1":                        `expected at most ten years (87600h), got "200000h"`,
		"5s":                                           `expected an event after the time, got nothing; events: approve, canary,`,
		"5s dwon 10.0.0.1":                             `expected an event, got "dwon"; did you mean "down"?`,
		"5s down":                                      `down: expected a target, got nothing`,
		"5s down 10.0.0.7":                             `down: expected an address, CHECK@ADDRESS or SITE.SIGNAL that the config probes, got "10.0.0.7"; did you mean "10.0.0.1"?`,
		"5s down wbe@10.0.0.1":                         `got "wbe@10.0.0.1"; did you mean "web@10.0.0.1"?`,
		"5s down dc1.wan":                              `got "dc1.wan"; known: 10.0.0.1, 10.0.0.2`,
		"5s down 10.0.0.1 conect/refused":              `expected PHASE/CAUSE, got the phase "conect"; did you mean "connect"?`,
		"5s down 10.0.0.1 connect/refsued":             `expected PHASE/CAUSE, got the cause "refsued"; did you mean "refused"?`,
		"5s down 10.0.0.1 connect":                     `expected PHASE/CAUSE such as connect/timeout, got "connect"`,
		"5s unknown 10.0.0.1 refused":                  `expected PHASE/CAUSE such as connect/timeout, got "refused"`,
		"5s down 10.0.0.1 connect/refused now":         `expected the end of the line, got "now"`,
		"5s approve nobody":                            `approve: expected a record set, an address, a site or all, got "nobody"; known: 10.0.0.1, 10.0.0.2, all,`,
		"5s approve web@10.0.0.9":                      `got "web@10.0.0.9"; did you mean "web@10.0.0.1"?`,
		"5s approve 10.0.0.9":                          `got "10.0.0.9"; did you mean "10.0.0.1"?`,
		"5s approve example.com":                       `expected a record set, an address, a site or all, got "example.com"`,
		"5s approve www --plan abc":                    `expected a zone of the config, got "www"`,
		"5s up 10.0.0.1 connect/refused":               `expected the end of the line, got "connect/refused"`,
		"5s down 10.0.0.1 connect/refused from eu":     `expected a vantage of the config after from, got "eu"; the config has none: add vantages`,
		"5s down '10.0.0.1":                            `a quote that is not closed`,
		"5s provider broken example.com":               `expected fail or ok, got "broken"`,
		"5s provider fail":                             `expected a zone, got nothing; known: example.com`,
		"5s provider fail exmaple.com":                 `expected a zone of the config, got "exmaple.com"; did you mean "example.com"?`,
		"5s canary fail":                               `the config has no canary`,
		"5s lease stolen":                              `expected lost or won, got "stolen"`,
		"5s restart later":                             `downtime: expected a duration`,
		"5s restart 5s 6s":                             `expected the end of the line, got "6s"; a comment begins with #`,
		"5s approve":                                   `expected what is approved, got nothing`,
		"5s approve example.com --plan":                `expected a checksum after --plan, got nothing`,
		"5s vantage silent eu":                         `expected a vantage of the config, got "eu"; the config has none`,
		"5s drain 10.0.0.1 --reason x":                 `drain: expected an end, got none: --for DURATION, or --for forever`,
		"5s drain 10.0.0.1 --for 1h":                   `drain: expected a reason, got none`,
		"5s drain 10.0.0.1 --for soon --reason x":      `drain: --for: expected a duration such as 30m, 4h or 2d, or forever, got "soon"`,
		"5s drain 10.0.0.1 --fro 1h":                   `drain: unknown flag: --fro`,
		"5s drain --for 1h --reason x":                 `drain: expected a TARGET, got nothing`,
		"5s drain 10.0.0.7 --for 1h --reason x":        `drain: the config has no "10.0.0.7"; a drain is of address, record set, site, target or all; did you mean "10.0.0.1"?`,
		"5s drain 10.0.0.1 x --for 1h --reason x":      `drain: a drain takes no value, got "x"`,
		"5h drain all --at 1h --for 1h --reason x":     `drain: --at: expected a time after 5h0m0s, got 1h0m0s`,
		"5s override set":                              `override: expected set KIND TARGET [VALUE]`,
		"5s override set dran all --for 1h --reason x": `expected a kind, got "dran"; did you mean "drain"?`,
		"5s override set pin www --for 1h --reason x":  `expected the values to pin to, got none`,
		"5s override set pin www.example.com 10.0.0.9 --for 1h --reason x": `10.0.0.9`,
		"5s override unset all":             `override: expected set or clear, got "unset"`,
		"5s override clear":                 `override: expected a TARGET, got nothing`,
		"5s override clear all --kind dran": `--kind: expected a kind, got "dran"`,
		"5s undrain 10.0.0.7":               `undrain: the config has no "10.0.0.7"`,
		"5s unfreeze all all":               `unfreeze: expected the end of the line, got "all"`,
	} {
		_, err := Parse("t.txt", []byte("# a comment\n\n"+line+"\n"), c)
		if err == nil || !strings.HasPrefix(err.Error(), "t.txt:3: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", line, err, want)
		}
	}
}

func TestParseGoesOn(t *testing.T) {
	_, err := Parse("t.txt", []byte("1m up 10.0.0.1\n30s up 10.0.0.1\nx\n2m up web@10.0.0.9\n"), load(t, twoServers))
	var all Errors
	if !errors.As(err, &all) || len(all) != 3 {
		t.Fatalf("got %v", err)
	}
	if want := "t.txt:2: time runs backwards: 30s comes after 1m0s"; all[0].Error() != want {
		t.Errorf("got %q, want %q", all[0], want)
	}
}

func TestParseTakes(t *testing.T) {
	c := load(t, `
zones: [{zone: example.com, provider: local, file: /nowhere/example.com.zone}]
checks: {web: {tcp: {port: 8443}}, ssh: {tcp: {port: 22}}}
sites: {dc1: {signals: {wan: {check: ssh, targets: [10.0.0.1, 10.8.8.8]}, access: {check: web, targets: [10.0.0.1]}}}}
records:
  - {name: www, check: [web, ssh], answers: [10.0.0.1, {value: 10.0.0.2, probe: 10.9.9.2}, 10.0.0.3]}
  - {name: six, check: web, answers: ["2001:db8::1", "2001:db8::2", "2001:db8::3"]}
  - {name: alias, check: web, policy: priority, answers: [a.example.net, b.example.net]}
`)
	for text, want := range map[string]string{
		"10.0.0.1":             "ssh@10.0.0.1 web@10.0.0.1",
		"ssh@10.0.0.1":         "ssh@10.0.0.1",
		"10.0.0.2":             "web@10.9.9.2 ssh@10.9.9.2", // the answer's value, probed elsewhere
		"web@10.0.0.2":         "web@10.9.9.2",
		"10.9.9.2":             "ssh@10.9.9.2 web@10.9.9.2",
		"2001:DB8:0:0::1":      "web@2001:db8::1",
		"web@2001:db8:0::2":    "web@2001:db8::2",
		"A.example.NET":        "web@a.example.net.",
		"web@b.example.net.":   "web@b.example.net.",
		" web@10.0.0.3  # why": "web@10.0.0.3",
		"dc1.wan":              "ssh@10.0.0.1 ssh@10.8.8.8",
		"dc1.access":           "web@10.0.0.1",
		`"10.0.0.3"`:           "ssh@10.0.0.3 web@10.0.0.3",
	} {
		n := namesOf(c)
		words, err := split(text)
		if err != nil || len(words) != 1 {
			t.Errorf("%s: %q, %v", text, words, err)
			continue
		}
		got, err := n.targets(words[0])
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: got %s, %v; want %s", text, strings.Join(got, " "), err, want)
		}
	}
	for _, target := range []string{"www", "six.example.com.", "dc1", "10.0.0.1", "web@10.0.0.2", "10.9.9.2", "a.example.net", "all", "example.com --plan abc"} {
		if _, err := Parse("t", []byte("0 approve "+target), c); err != nil {
			t.Error(err)
		}
	}
	if _, err := Parse("t", []byte("0 up 10.0.0.1\r\n0.5 up 10.0.0.1\n\t90 up 10.0.0.1 # 90s\n90s restart\n"), c); err != nil {
		t.Error(err)
	}
}

// TestOfferedEvents: who does not know the events is told of them.
func TestOfferedEvents(t *testing.T) {
	c := load(t, twoServers)
	for _, text := range []string{"5s", "5s quake"} {
		if _, err := Parse("t.txt", []byte(text), c); err == nil || !strings.Contains(err.Error(), "undrain, unfreeze, unknown, up, vantage") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestApproveOfNothing: whether anything waits only shows when it is played. The
// error names the line, and what was decided before stands.
func TestApproveOfNothing(t *testing.T) {
	c := load(t, twoServers)
	timeline, err := Parse("t.txt", []byte("1m down 10.0.0.1\n5m approve 10.0.0.2\n"), c)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = Run(context.Background(), Options{Config: c, Timeline: timeline, Until: time.Hour, Decision: func(Decision) { n++ }})
	var wrong Errors
	if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), "t.txt:2: approve \"10.0.0.2\": nothing waits for approval at this address") || n != 1 {
		t.Errorf("%d decisions, %v", n, err)
	}
}

func TestRunIsStopped(t *testing.T) {
	c := load(t, twoServers)
	ctx, stop := context.WithCancel(context.Background())
	err := Run(ctx, Options{Config: c, Until: longest, Whole: true, Decision: func(Decision) {}, Progress: func(at time.Duration) {
		if at > time.Hour {
			stop()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("1m down 10.0.0.1 connect/refused # why\n2m up web@10.0.0.1\n")
	f.Add("0 restart 5m\n1h approve 'www.example.com' --plan \"abc\"\nx")
	c := load(f, twoServers)
	f.Fuzz(func(t *testing.T, text string) {
		timeline, err := Parse("t", []byte(text), c)
		if err != nil && timeline.Events != nil {
			t.Errorf("%d events in spite of %v", len(timeline.Events), err)
		}
		for i, e := range timeline.Events {
			if i > 0 && e.At < timeline.Events[i-1].At || e.At < 0 || e.At > longest {
				t.Errorf("event %d at %s", i, e.At)
			}
		}
	})
}
