package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/observe"
	"sidestep/pkg/record"
)

// switchSamples are three moments of a switch: before it, while the cache holds
// the old answer, and after the kept connection was cut.
func switchSamples() []observe.Sample {
	began := time.Date(2026, 1, 2, 3, 0, 0, 0, time.Local)
	server := observe.Server{Name: "ns1.example.net.", Addr: netip.MustParseAddrPort("192.0.2.53:53")}
	second := observe.Server{Name: "ns2.example.net.", Addr: netip.MustParseAddrPort("[2001:db8::53]:53")}
	cache := observe.Server{Addr: netip.MustParseAddrPort("192.0.2.1:53")}
	told := func(s observe.Server, ttl int, value string) observe.View {
		return observe.View{Server: s, Outcome: observe.Answered, Values: []string{value}, TTL: time.Duration(ttl) * time.Second, Took: 3 * time.Millisecond}
	}
	mute := observe.View{Server: second, Outcome: observe.TimedOut, Detail: "no answer in time", Took: 2 * time.Second}
	reply := func(second int, address, identity string, requests int) observe.Reply {
		return observe.Reply{
			Address: netip.AddrPortFrom(netip.MustParseAddr(address), 443), Opened: began, Requests: requests, Protocol: "HTTP/2.0",
			Status: 200, Identity: identity, At: began.Add(time.Duration(second) * time.Second), Took: 12 * time.Millisecond,
		}
	}
	const a, b = "203.0.113.10", "203.0.113.20"
	kept := []observe.Reply{reply(0, a, "A", 1), reply(1, a, "A", 2), reply(2, b, "B", 1)}
	kept[2].Opened = began.Add(2 * time.Second)
	kept[2].Ended = &observe.End{Address: kept[0].Address, At: began.Add(2 * time.Second), By: observe.ByServer, How: "it closed the connection"}
	refused := observe.Reply{At: began.Add(time.Second), Took: 2 * time.Millisecond, Address: kept[0].Address, Phase: check.PhaseConnect, Cause: check.CauseRefused, Detail: "connection refused"}
	samples := []observe.Sample{
		{At: began, Servers: []observe.View{told(server, 60, a), told(second, 60, a)}, Resolver: told(cache, 9, a), Kept: &kept[0], New: []observe.Reply{reply(0, a, "A", 1)}},
		{At: began.Add(time.Second), Servers: []observe.View{told(server, 60, b), told(second, 60, a)}, Resolver: told(cache, 8, a), Kept: &kept[1], New: []observe.Reply{refused}},
		{At: began.Add(2 * time.Second), Took: 2 * time.Second, Servers: []observe.View{told(server, 60, b), mute}, Resolver: observe.View{Server: cache, Outcome: observe.AnsweredNXDomain, TTL: 5 * time.Second}, Kept: &kept[2], New: []observe.Reply{reply(2, b, "B", 1)}},
	}
	same, late := samples[2], samples[2]
	ended := *same.Kept
	ended.Ended = nil
	same.At, same.Kept, late.Kept = began.Add(3*time.Second), &ended, &ended
	late.At, late.Late = began.Add(4*time.Second), []observe.Late{{Clock: observe.New, For: 700 * time.Millisecond}}
	return append(samples, same, late)
}

func printed(t *testing.T, asJSON bool) string {
	t.Helper()
	var out bytes.Buffer
	a := testApp()
	a.io.Out, a.json = &out, asJSON
	setup := &observeSetup{Options: observe.Options{Name: "www.example.com.", Type: record.A, Request: &observe.Request{}}, serversFrom: "NS records"}
	flags := observeFlags{every: time.Second, span: time.Minute}
	printer := a.observePrinter(setup, flags)
	var line observe.Timeline
	for _, s := range switchSamples() {
		if err := printer.sample(&line, s, line.Add(s)); err != nil {
			t.Fatal(err)
		}
	}
	printer.end(&line)
	return out.String()
}

// TestObserveTable is the table of a switch: what changed is marked in its row, and
// said below it with its time.
func TestObserveTable(t *testing.T) {
	const want = `
TIME      AUTHORITATIVE               RESOLVER              KEPT CONNECTION             NEW CONNECTION
03:00:00  203.0.113.10 60s (2/2)      203.0.113.10 9s       A at 203.0.113.10 12ms      A at 203.0.113.10 12ms
TIME      AUTHORITATIVE                                   RESOLVER              KEPT CONNECTION             NEW CONNECTION
03:00:01 *203.0.113.20 60s (1/2); 203.0.113.10 60s (1/2)  203.0.113.10 8s       A at 203.0.113.10 12ms     *203.0.113.10 connect/refused
03:00:01.002 * new connection reached 203.0.113.10 connect/refused, before A at 203.0.113.10
03:00:01.003 * authoritative ns1.example.net 192.0.2.53 changed: 203.0.113.10 -> 203.0.113.20
`
	got := printed(t, false)
	_, table, _ := strings.Cut(got, "\n\n")
	if !strings.HasPrefix("\n"+table, want) {
		t.Errorf("got\n%s\nwant\n%s", table, want)
	}
	for _, line := range []string{
		`03:00:02 \*203.0.113.20 60s \(1/2\); timeout \(1/2\) +\*NXDOMAIN 5s +\*B at 203.0.113.20 12ms +\*B at 203.0.113.20 12ms`,
		`03:00:04.000 \* authoritative ns2.example.net 2001:db8::53 changed: 203.0.113.10 -> timeout`,
		`[0-9:.]+ \* resolver changed: 203.0.113.10 -> NXDOMAIN`,
		`03:00:02.000 \* kept connection ended by server: it closed the connection`,
		`03:00:02.012 \* kept connection changed: A at 203.0.113.10 -> B at 203.0.113.20`,
		`[0-9:.]+ \* new connection reached B at 203.0.113.20, before 203.0.113.10 connect/refused`,
		`ns2.example.net 2001:db8::53 +timeout +2000ms +no answer in time`,
		`resolver 192.0.2.1 +NXDOMAIN +5s +0.0ms +held as long as the SOA of the zone says`,
		`kept connection +B at 203.0.113.20 +12ms +HTTP/2.0, status 200`,
		` {8}  same for 1s \(1 sample\)`,
		`03:00:04 .* \*B at 203.0.113.20 12ms \(late 700ms\)`,
		`03:00:02 .{47} \*NXDOMAIN 5s .*`,
		`5 samples, [0-9] changes`,
		`repaired, but NXDOMAIN or NODATA`,
		`  seen: the zone answers 203.0.113.20, resolver 192.0.2.1 still NXDOMAIN, for 5s more`,
		`  look at: the negative TTL: .*`,
	} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(got) {
			t.Errorf("no line %s in\n%s", line, got)
		}
	}
}

// TestObserveJSON is the same in JSON: a line for each sample.
func TestObserveJSON(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(printed(t, true)), "\n")
	if len(lines) != 5 {
		t.Fatalf("%d lines", len(lines))
	}
	var late observedLine
	if err := json.Unmarshal([]byte(lines[4]), &late); err != nil || len(late.Late) != 1 || late.Late[0] != (observedLate{"new", "", 700}) {
		t.Errorf("%v, got %s", err, lines[4])
	}
	var last observedLine
	if err := json.Unmarshal([]byte(lines[2]), &last); err != nil {
		t.Fatal(err)
	}
	if last.Resolver.Outcome != "nxdomain" || *last.Resolver.TTLS != 5 || last.Kept.Ended.By != "server" || last.Kept.Address != "203.0.113.20" || last.Kept.Port != 443 || last.Servers[0].Port != 53 {
		t.Errorf("got %s", lines[2])
	}
	if len(last.Events) != 5 || len(last.Findings) != 2 || len(last.Gaps) != 0 || last.Events[0].Clock == "" || last.Findings[0].Look == "" {
		t.Errorf("got %s", lines[2])
	}
}

// TestADenialWithoutAnSOA has no time that could be shown.
func TestADenialWithoutAnSOA(t *testing.T) {
	v := observe.View{Outcome: observe.AnsweredNoData, Untold: true}
	if text, row := saidFor(v), viewRow(v); text != "NODATA for an unknown time" || row[2] != "unknown" || !strings.Contains(row[4], "without an SOA") {
		t.Errorf("%q, %q", text, row)
	}
	if describeView(v).TTLS != nil || *describeView(observe.View{TTL: time.Second}).TTLS != 1 {
		t.Error("ttl_s is not null where none was told")
	}
}

// TestAFlagWithoutAValue is not taken as one that is not there.
func TestAFlagWithoutAValue(t *testing.T) {
	for want, args := range map[string][]string{
		"observe: --resolver: expected ADDRESS or ADDRESS:PORT, got nothing": {"observe", "www", "--resolver", ""},
		"drill: --resolver: expected ADDRESS or ADDRESS:PORT, got nothing":   {"drill", "www", "--resolver="},
		"observe: --svg: expected a file, got nothing":                       {"observe", "www", "--svg", ""},
		"drill: --identity: expected header:NAME":                            {"drill", "www", "--identity", ""},
		"observe: --type: expected A, AAAA or CNAME":                         {"observe", "www", "--type", ""},
		"observe: --via: expected http://HOST:PORT":                          {"observe", "www", "--via", ""},
		"observe: --url: expected a URL":                                     {"observe", "www", "--url", ""},
	} {
		root := testRoot()
		root.SetArgs(args)
		if err := root.Execute(); !strings.HasPrefix(fmt.Sprint(err), want) || !isUsage(err) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}

func isUsage(err error) bool {
	_, is := errors.AsType[*usageError](err)
	return is
}
