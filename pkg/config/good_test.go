package config

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sidestep/pkg/check"
	"sidestep/pkg/notify"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/pkg/scenario"
	"sidestep/pkg/steer"
)

// wealthy is the world of tests that need secrets: every variable is set.
func wealthy() Options {
	opts := world()
	opts.Getenv = func(name string) string { return "MARKER-" + name }
	return opts
}

func mustParse(t *testing.T, file, text string, opts Options) *Config {
	t.Helper()
	c, err := Parse(file, []byte(text), opts)
	if err != nil {
		t.Fatalf("Parse:\n%v", err)
	}
	return c
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// parts are the comparers of what cmp cannot look into.
var parts = cmp.Options{
	cmp.Comparer(func(a, b provider.Secret) bool { return a.Reveal() == b.Reveal() }),
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b *regexp.Regexp) bool { return fmt.Sprint(a) == fmt.Sprint(b) }),
}

// apartFromPlace compares what Show promises to keep.
var apartFromPlace = cmp.Options{
	cmpopts.IgnoreFields(Config{}, "Sources", "Warnings"),
	cmpopts.IgnoreFields(Zone{}, "Position"),
	cmpopts.IgnoreFields(check.Header{}, "Value"),
	cmpopts.IgnoreFields(check.TCP{}, "Send"),
	cmpopts.EquateEmpty(),
	cmp.Comparer(func(_, _ provider.Secret) bool { return true }), // that it is there is compared by its key
	parts[1:],
}

// apartFromQuery compares paths without what stands behind the question mark,
// which Show masks.
var apartFromQuery = cmp.FilterPath(func(p cmp.Path) bool { return strings.HasSuffix(p.String(), "HTTP.Path") },
	cmp.Comparer(func(x, y string) bool { return (&check.HTTP{Path: x}).URL() == (&check.HTTP{Path: y}).URL() }))

func TestEveryKeyReachesTheConfig(t *testing.T) {
	got := mustParse(t, "full.yaml", read(t, "testdata/good/full.yaml"), wealthy())
	at := func(line, column int) Position { return Position{"full.yaml", line, column} }
	want := &Config{
		File:      "full.yaml",
		Node:      Node{Name: "mon-1", Vantage: "eu-west"},
		State:     State{Dir: "/etc/sidestep/state", MaxAge: 20 * time.Minute},
		Control:   Control{Socket: "/etc/sidestep/control.sock"},
		Leader:    Leader{Lock: LockNone, IAmAlone: true},
		Reconcile: Reconcile{Debounce: 2 * time.Second, Every: 6 * time.Minute, RetryBase: 2 * time.Second, RetryMax: 40 * time.Second},
		Canary:    Canary{Targets: fullCanary(), Need: 2},
		Guard:     Guard{Mass: Mass{Percent: 40, AtLeast: 4, Within: 3 * time.Minute, Confirm: 5}, MaxChanges: 7, MaxWrites: MaxWrites{Count: 8, Window: 11 * time.Minute}},
		Adopt:     AdoptAuto,
		Zones:     fullZones(at),
		Checks: map[string]*check.Spec{
			"web": {
				Name: "web", Kind: check.KindHTTP,
				HTTP: &check.HTTP{
					Scheme: "https", Host: "www.example.com", Port: 8443, Authority: "www.example.com:8443", Path: "/healthz?token=MARKER",
					Method:    "POST",
					Headers:   []check.Header{{Name: "Authorization", Value: "MARKER-TOKEN"}, {Name: "X-Probe", Value: "1"}},
					Status:    []check.StatusRange{{Low: 200, High: 299}, {Low: 301, High: 301}, {Low: 400, High: 404}},
					Body:      regexp.MustCompile("ok|fine"),
					JSON:      map[string]string{"status": "ok", "data.count": "010x", "yes": "true", "empty": ""},
					BodyLimit: 1 << 20, HTTP1: true,
					TLS: check.TLS{ServerName: "origin.example.com", CA: pems()["ca.pem"].Data, Cert: pems()["client.pem"].Data, Key: pems()["client.key"].Data},
				},
				Interval: 10 * time.Second, Timeout: 4 * time.Second, Fall: 1, Rise: 2,
				Source:   netip.MustParseAddr("198.51.100.7"),
				Cooldown: &check.Cooldown{Base: 40 * time.Second, Factor: 3, Max: 6 * time.Minute},
				Causes:   check.Causes{check.CauseAuth: check.CountDisable, check.CauseCertificate: check.CountUnknown, check.CauseLocal: check.CountFail},
			},
			"ssh": {Name: "ssh", Kind: check.KindTCP, TCP: &check.TCP{Port: 22}, Interval: 20 * time.Second, Timeout: 3 * time.Second, Fall: 4, Rise: 5},
			"smtps": {
				Name: "smtps", Kind: check.KindTCP, Interval: 20 * time.Second, Timeout: 3 * time.Second, Fall: 4, Rise: 5,
				TCP: &check.TCP{
					Port: 465, Send: "MARKER QUIT\r\n", Expect: regexp.MustCompile("^220 "),
					TLS: &check.TLS{ServerName: "2001:db8::1", CA: pems()["ca.pem"].Data},
				},
			},
		},
		TLSFiles: map[string]TLSFiles{
			"web":   {CA: "/etc/sidestep/ca.pem", Cert: "/etc/sidestep/client.pem", Key: "/etc/sidestep/client.key"},
			"ssh":   {},
			"smtps": {CA: "/etc/sidestep/ca.pem"},
		},
		Sites: fullSites(), Scenarios: fullScenarios(),
		Records: fullRecords(),
		Notify:  fullNotify(),
		Ping:    Ping{URL: provider.NewSecret("https://hc.example.com/MARKER"), Every: 90 * time.Second, Host: "hc.example.com", Masked: "https://hc.example.com/***"},
		Sources: Sources{
			Leader: at(5, 16),
			Checks: map[string]Position{"web": at(28, 3), "ssh": at(49, 3), "smtps": at(50, 3)},
			Records: map[record.Key]Position{
				fullRecords()[0].Key: at(52, 11),
				fullRecords()[1].Key: at(66, 11),
				fullRecords()[2].Key: at(71, 11),
				fullRecords()[3].Key: at(75, 11),
			},
		},
	}
	if diff := cmp.Diff(want, got, parts, cmpopts.IgnoreFields(Config{}, "Warnings"), cmpopts.IgnoreFields(Sources{}, "Zones")); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
}

// fullCanary has the thresholds of a probe of which each counts by itself.
func fullCanary() []CanaryTarget {
	spec := func(name string) *check.Spec {
		return &check.Spec{Name: name, Interval: 5 * time.Second, Timeout: 2 * time.Second, Fall: 1, Rise: 1}
	}
	dns, six, page := spec("198.51.100.1:53"), spec("[2001:db8::1]:443"), spec("https://198.51.100.2/health?…")
	dns.Kind, dns.TCP = check.KindTCP, &check.TCP{Port: 53}
	six.Kind, six.TCP = check.KindTCP, &check.TCP{Port: 443}
	page.Kind, page.HTTP = check.KindHTTP, &check.HTTP{
		Scheme: "https", Host: "198.51.100.2", Port: 443, Authority: "198.51.100.2", Path: "/health?x=1",
		Method: "GET", Status: []check.StatusRange{{Low: 200, High: 499}},
	}
	return []CanaryTarget{{dns, "198.51.100.1"}, {six, "2001:db8::1"}, {page, "198.51.100.2"}}
}

func fullZones(at func(int, int) Position) []Zone {
	return []Zone{
		{
			Name: "example.com.", Provider: "rfc2136", Position: at(11, 5),
			Verify: Verify{Servers: []string{"192.0.2.54:53", "[2001:db8::54]:5354"}},
			Settings: provider.Settings{
				Zone: "example.com.",
				Options: map[string]string{
					"server": "192.0.2.53:53", "transfer_from": "[2001:db8::53]:5353",
					"tsig.name": "key.example.", "tsig.algorithm": "hmac-sha512",
				},
				Secrets: map[string]provider.Secret{"tsig.secret": provider.NewSecret("MARKER-TSIG")},
				Late:    90 * time.Second, Lag: 1500 * time.Millisecond,
			},
		},
		{
			Name: "xn--bcher-kva.example.", Provider: "local", Position: at(19, 5), Verify: Verify{DNS: true},
			Settings: provider.Settings{
				Zone:    "xn--bcher-kva.example.",
				Options: map[string]string{"file": "/etc/sidestep/buecher.zone", "listen": "127.0.0.1:5300"},
				Secrets: map[string]provider.Secret{},
			},
		},
		{
			Name: "plain.example.", Provider: "rfc2136", Position: at(23, 5), Verify: Verify{DNS: true},
			Settings: provider.Settings{
				Zone:     "plain.example.",
				Options:  map[string]string{"server": "ns.plain.example:53", "transfer_from": "ns.plain.example:53"},
				Secrets:  map[string]provider.Secret{},
				Insecure: true,
			},
		},
	}
}

func fullRecords() []*steer.Spec {
	return []*steer.Spec{
		{
			Key: record.Key{Zone: "example.com.", Name: "www.example.com.", Type: record.A},
			TTL: time.Minute, Policy: steer.Priority, MaxLive: 2, MinLive: 2, OnAllDown: steer.Fallback,
			Failback: steer.Failback{Manual: true, Hold: 7 * time.Minute},
			Answers:  []steer.Answer{{Value: "203.0.113.10", Probe: "203.0.113.10"}, {Value: "203.0.113.20", Probe: "10.1.0.20"}},
			Checks:   []string{"web", "ssh"}, Fallback: []string{"203.0.113.80"}, AskFirst: true,
		},
		{
			Key:    record.Key{Zone: "xn--bcher-kva.example.", Name: "xn--strae-oqa.xn--bcher-kva.example.", Type: record.AAAA},
			Policy: steer.All, MinLive: 1, OnAllDown: steer.Open,
			Answers: []steer.Answer{{Value: "2001:db8::10", Probe: "2001:db8::10"}, {Value: "2001:db8::11", Probe: "2001:db8::11"}},
			Checks:  []string{"ssh"},
		},
		{
			Key:    record.Key{Zone: "plain.example.", Name: "alias.plain.example.", Type: record.CNAME},
			Policy: steer.Priority, MaxLive: 1, MinLive: 1, OnAllDown: steer.Keep, Failback: steer.Failback{Hold: 5 * time.Minute},
			Answers: []steer.Answer{{Value: "lb.example.net.", Probe: "203.0.113.99"}},
			Checks:  []string{"ssh"},
		},
		{
			Key:    record.Key{Zone: "example.com.", Name: "api.example.com.", Type: record.A},
			Policy: steer.Priority, MaxLive: 1, MinLive: 1, OnAllDown: steer.Keep, Failback: steer.Failback{Hold: 5 * time.Minute},
			Answers: []steer.Answer{
				{Value: "203.0.113.11", Probe: "203.0.113.11", Site: "dc1", When: "dc1-usable"},
				{Value: "203.0.113.21", Probe: "203.0.113.21", Site: "dc2", When: "calm"},
				{Value: "203.0.113.31", Probe: "203.0.113.31", When: "disaster", Mode: steer.Standby},
			},
		},
	}
}

func fullNotify() []Notify {
	return []Notify{
		{
			URL: provider.NewSecret("https://hooks.slack.com/services/MARKER/MARKER"), On: []notify.Topic{notify.Down, notify.Up},
			Kind: notify.Slack, Host: "hooks.slack.com", Masked: "https://hooks.slack.com/***",
		},
		{
			URL:      provider.NewSecret("smtp://ann:MARKER@mx.example.com:2525?from=sidestep@example.com&to=ops@example.com"),
			On:       notify.Topics,
			Insecure: true, Kind: notify.Mail, Host: "mx.example.com:2525", Masked: "smtp://mx.example.com:2525?from=***@***&to=***@***",
		},
		{
			URL: provider.NewSecret("https://alerts.example.com/MARKER"), On: []notify.Topic{notify.OverrideOld},
			Template: `{"text": "{{.Text}}"}`, Kind: notify.Webhook, Host: "alerts.example.com", Masked: "https://alerts.example.com/***",
		},
	}
}

func fullSites() []scenario.Site {
	return []scenario.Site{
		{
			Name: "dc1", Maintenance: "moving", Return: scenario.Return{AfterOutage: 30 * time.Minute, Mode: scenario.Approve},
			Signals: []scenario.Signal{
				{Name: "internet", Check: "ssh", Targets: []string{"203.0.113.1"}, Need: 1},
				{Name: "lan", Check: "ssh", Targets: []string{"10.0.0.7", "10.0.0.8"}, Need: 2},
				{Name: "zoo", Check: "ssh", Targets: []string{"10.0.0.5", "2001:db8::5", "10.0.0.6"}, Need: 2},
			},
		},
		{
			Name: "dc2", Return: scenario.Return{AfterOutage: 45 * time.Minute, Mode: scenario.Fresh, Check: "web"},
			Signals: []scenario.Signal{{Name: "access", Check: "web", Targets: []string{"203.0.113.21"}, Need: 1}},
		},
	}
}

func fullScenarios() []scenario.Scenario {
	signal := func(name string) scenario.Term {
		return scenario.Term{Kind: scenario.SignalHolds, Name: "dc1", Of: name}
	}
	return []scenario.Scenario{
		{Name: "dc1-usable", Any: []scenario.Group{
			{signal("internet"), {Not: true, Kind: scenario.Maintenance, Name: "dc1"}, signal("zoo")},
			{signal("lan"), {Not: true, Kind: scenario.CheckUp, Name: "web"}},
		}},
		{Name: "disaster", Any: []scenario.Group{{
			{Not: true, Kind: scenario.SiteOK, Name: "dc1"}, {Not: true, Kind: scenario.SiteOK, Name: "dc2"},
			{Not: true, Kind: scenario.TargetUp, Name: "ssh", Of: "2001:db8::5"}, {Kind: scenario.TargetUp, Name: "ssh", Of: "203.0.113.99"},
		}}},
		{Name: "calm", Any: []scenario.Group{{{Not: true, Kind: scenario.Holds, Name: "disaster"}}}},
	}
}

// small is the least that a config needs.
const small = `
zones: [{zone: example.com, provider: local, file: example.com.zone}]
checks: {web: {http: {url: "http://www.example.com"}}}
records: [{name: www.example.com, check: web, answers: [192.0.2.1, 192.0.2.2]}]
`

func TestDefaults(t *testing.T) {
	got := mustParse(t, "/x/small.yaml", small, world())
	want := &Config{
		File:      "/x/small.yaml",
		Node:      Node{Name: "mon-1", Vantage: "mon-1"},
		State:     State{Dir: "/var/lib/sidestep", MaxAge: 15 * time.Minute},
		Control:   Control{Socket: "/run/sidestep/control.sock"},
		Leader:    Leader{Lock: LockFile},
		Reconcile: Reconcile{Debounce: time.Second, Every: 5 * time.Minute, RetryBase: time.Second, RetryMax: 30 * time.Second},
		Guard:     Guard{Mass: Mass{Percent: 50, AtLeast: 3, Within: 2 * time.Minute, Confirm: 2}, MaxWrites: MaxWrites{Count: 6, Window: 10 * time.Minute}},
		Adopt:     AdoptAsk,
		Zones: []Zone{{
			Name: "example.com.", Provider: "local", Verify: Verify{DNS: true},
			Settings: provider.Settings{Zone: "example.com.", Options: map[string]string{"file": "/etc/sidestep/example.com.zone"}},
		}},
		Checks: map[string]*check.Spec{"web": {
			Name: "web", Kind: check.KindHTTP, Interval: 10 * time.Second, Timeout: 5 * time.Second, Fall: 3, Rise: 3,
			HTTP: &check.HTTP{
				Scheme: "http", Host: "www.example.com", Port: 80, Authority: "www.example.com", Path: "/",
				Method: "GET", Status: []check.StatusRange{{Low: 200, High: 299}}, BodyLimit: 64 << 10,
			},
		}},
		TLSFiles: map[string]TLSFiles{"web": {}},
		Records: []*steer.Spec{{
			Key:    record.Key{Zone: "example.com.", Name: "www.example.com.", Type: record.A},
			Policy: steer.All, MinLive: 1, OnAllDown: steer.Keep, AskFirst: true, Checks: []string{"web"},
			Answers: []steer.Answer{{Value: "192.0.2.1", Probe: "192.0.2.1"}, {Value: "192.0.2.2", Probe: "192.0.2.2"}},
		}},
	}
	if diff := cmp.Diff(want, got, apartFromPlace); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
	if got.Zone("example.com.") != &got.Zones[0] || got.Zone("example.net.") != nil {
		t.Errorf("Zone does not find what is there, or finds what is not")
	}
}

func TestShowAndWarningsOfGoodConfigs(t *testing.T) {
	paths, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(paths) < 2 {
		t.Fatalf("found %d good configs, %v", len(paths), err)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			c := mustParse(t, name, read(t, path), wealthy())
			text := string(c.Show())
			if strings.Contains(text, "MARKER") {
				t.Errorf("Show shows a secret:\n%s", text)
			}
			for _, w := range c.Warnings {
				text += "# " + w.String() + "\n"
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".want", text)
			checkRoundTrip(t, c, world())
		})
	}
}

func checkRoundTrip(t *testing.T, c *Config, opts Options) {
	t.Helper()
	again, err := Parse(c.File, c.Show(), opts)
	if err != nil {
		t.Fatalf("Parse(Show()):\n%v\n%s", err, c.Show())
	}
	if diff := cmp.Diff(c, again, apartFromPlace, apartFromQuery); diff != "" {
		t.Errorf("Parse(Show()) (-want +got):\n%s", diff)
	}
}

func TestTimeoutFollowsTheInterval(t *testing.T) {
	for _, test := range []struct {
		defaults, check   string
		interval, timeout time.Duration
	}{
		{"{}", "interval: 4s", 4 * time.Second, 2 * time.Second},
		{"{}", "interval: 60", time.Minute, 5 * time.Second},
		{"{interval: 2}", "fall: 1", 2 * time.Second, time.Second},
		{"{interval: 30s, timeout: 9s}", "fall: 1", 30 * time.Second, 9 * time.Second},
		{"{interval: 30s, timeout: 9s}", "timeout: 2.5", 30 * time.Second, 2500 * time.Millisecond},
		{"{}", "interval: 0.1", 100 * time.Millisecond, 50 * time.Millisecond},
	} {
		text := fmt.Sprintf("defaults: %s\nchecks: {c: {tcp: {port: 22}, %s}}\nzones: [{zone: a.example, provider: local, file: /z}]\n"+
			"records: [{name: a.example, check: c, answers: [192.0.2.1]}]\n", test.defaults, test.check)
		c := mustParse(t, "t.yaml", text, world())
		if got := c.Checks["c"]; got.Interval != test.interval || got.Timeout != test.timeout {
			t.Errorf("defaults %s, check {%s}: interval %s, timeout %s, want %s, %s", test.defaults, test.check, got.Interval, got.Timeout, test.interval, test.timeout)
		}
	}
}

func TestATimeoutOfTheDefaultsMayBeTooLongForACheck(t *testing.T) {
	text := strings.Replace(small, "}}}", "}, interval: 3s}}", 1) + "defaults: {timeout: 4s}\n"
	_, err := Parse("t.yaml", []byte(text), world())
	want := "t.yaml:3:65: checks.web.interval: the timeout, 4s, has to be below the interval, 3s; an interval counts from start to start"
	if err == nil || err.Error() != want {
		t.Errorf("Parse = %v, want %s", err, want)
	}
}

func TestAConfigForTheZonesAlone(t *testing.T) {
	opts := world()
	opts.AllowNoRecords = true
	c := mustParse(t, "z.yaml", "zones: [{zone: example.com, provider: local, file: /z}]\n", opts)
	if len(c.Zones) != 1 || len(c.Records) != 0 {
		t.Errorf("got %d zones and %d records, want 1 and 0", len(c.Zones), len(c.Records))
	}
	if _, err := Parse("z.yaml", c.Show(), opts); err != nil {
		t.Errorf("Parse(Show()):\n%v", err)
	}
}

func TestHostNameThatIsNoNodeName(t *testing.T) {
	opts := world()
	opts.Hostname = func() (string, error) { return "(none)", nil }
	_, err := Parse("t.yaml", []byte(small), opts)
	want := `t.yaml: node.name: the host name "(none)" cannot be the node's name; give node: {name: …}`
	if err == nil || err.Error() != want {
		t.Errorf("Parse = %v, want %s", err, want)
	}
	opts.Hostname = func() (string, error) { return "", errors.New("no name") }
	if _, err := Parse("t.yaml", []byte(small), opts); err == nil {
		t.Error("Parse accepted a host without a name")
	}
	if _, err := Parse("t.yaml", []byte(small+"node: {name: given}\n"), opts); err != nil {
		t.Errorf("Parse = %v, want no error when the name is given", err)
	}
}

func TestANameIsProbedByItself(t *testing.T) {
	c := mustParse(t, "t.yaml", oneRecord("example.com", "name: app, policy: priority, answers: [LB1.example.net, {value: lb2.example.net, probe: 192.0.2.2}]"), world())
	want := []steer.Answer{{Value: "lb1.example.net.", Probe: "lb1.example.net."}, {Value: "lb2.example.net.", Probe: "192.0.2.2"}}
	if got := c.Records[0].Answers; !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
