package route53

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
	"sidestep/providers/route53/route53test"
)

// TestCase35AliasIsSeenAndLeft: www has an A set that is an alias of a load
// balancer, with a look at its health. The config wants www A 192.0.2.10. The
// list says that there is an alias; a write is refused, and says so.
func TestCase35AliasIsSeenAndLeft(t *testing.T) {
	a, f, h := start(t, route53test.Options{})
	www := key("www", record.A)
	h.PutSet(`<Name>www.example.com</Name><Type>A</Type><AliasTarget><HostedZoneId>Z35SXDOTRQ7X7K</HostedZoneId><DNSName>lb.example.net.</DNSName><EvaluateTargetHealth>true</EvaluateTargetHealth></AliasTarget>`)
	n := newNode(t, a)
	before := others(f)
	seen := list(t, a)
	if len(seen.Sets) != 0 || !slices.Equal(seen.Fixed, []provider.Fixed{{Key: www, What: "an alias of lb.example.net."}}) {
		t.Errorf("the list says %+v and %+v", seen.Sets, seen.Fixed)
	}
	sent := posts(f)
	fails(t, n.write(www, create(www, "192.0.2.10")), provider.Permanent, "an alias of lb.example.net.", "steer another name")
	if got := posts(f); got != sent {
		t.Errorf("%d writes were sent", got-sent)
	}
	aaaa := key("www", record.AAAA)
	n.must(aaaa, create(aaaa, "2001:db8::10")) // the other type of the name is free
	n.must(aaaa, create(aaaa, "2001:db8::11"))
	n.must(aaaa, pause(aaaa, "2001:db8::10"))
	for _, line := range before {
		if !slices.Contains(f.Attributes(), line) {
			t.Errorf("gone: %s", line)
		}
	}
}

// TestCase36WeightedSiblings: w has the weighted sets blue, weight 90, of
// 192.0.2.10, and green, weight 10, of 192.0.2.20; the config has one pool of
// both, and .10 dies. Nothing is written to a set that the config does not name.
func TestCase36WeightedSiblings(t *testing.T) {
	a, f, h := start(t, route53test.Options{})
	for _, s := range []string{"blue 90 192.0.2.10", "green 10 192.0.2.20"} {
		p := strings.Fields(s)
		h.PutSet(`<Name>w.example.com</Name><Type>A</Type><SetIdentifier>` + p[0] + `</SetIdentifier><Weight>` + p[1] + `</Weight><TTL>60</TTL><ResourceRecords><ResourceRecord><Value>` + p[2] + `</Value></ResourceRecord></ResourceRecords><HealthCheckId>hc-` + p[0] + `</HealthCheckId>`)
	}
	n := newNode(t, a)
	plain, blue := key("w", record.A), key("w", record.A)
	blue.Variant = "blue"
	sent, before := posts(f), others(f)
	fails(t, n.write(plain, pause(plain, "192.0.2.10")), provider.Conflict, "neither live nor parked")
	fails(t, n.write(plain, create(plain, "192.0.2.10")), provider.Permanent, "blue", "variant: blue")
	if got := posts(f); got != sent {
		t.Errorf("%d writes were sent", got-sent)
	}
	n.must(blue, create(blue, "192.0.2.11"))
	n.must(blue, pause(blue, "192.0.2.10"))
	if !slices.Contains(f.Attributes(), "w.example.com. 60 A 192.0.2.11 set=blue weight=90 health=hc-blue") || !slices.Contains(f.Attributes(), before[len(before)-1]) {
		t.Errorf("the sets have become %q", f.Attributes())
	}
	n.must(blue, resume(blue, "192.0.2.10"))
	n.must(blue, pause(blue, "192.0.2.11"))
	for _, line := range before {
		if !slices.Contains(f.Attributes(), line) {
			t.Errorf("gone: %s", line)
		}
	}
	for _, line := range f.History() {
		if strings.HasPrefix(line, "upsert") || strings.Contains(line, "green") && !strings.HasPrefix(line, "by hand") {
			t.Errorf("unexpected: %s", line)
		}
	}
}

// TestCase37TwoValuesWhateverWasThere: the config wants 203.0.113.1 and .2, both
// healthy. The set has nothing, one old value, or three old ones. Afterwards it
// has exactly the two, was never empty, and a second look finds nothing to do.
func TestCase37TwoValuesWhateverWasThere(t *testing.T) {
	for name, old := range map[string][]string{"empty": nil, "one": {three}, "three": {three, "192.0.2.31", "192.0.2.32"}} {
		t.Run(name, func(t *testing.T) {
			a, f, h := start(t, route53test.Options{})
			www := key("www", record.A)
			put(h, www, old...)
			n := newNode(t, a)
			n.must(www, create(www, one), create(www, two))
			if got := h.Live(www); len(got) != len(old)+2 {
				t.Errorf("after the add: %v", got)
			}
			var away []record.Change
			for _, v := range old {
				away = append(away, pause(www, v))
			}
			if len(away) > 0 {
				call := n.call(www, away...)
				call.Survivors = []string{one, two}
				if err := n.send(call); err != nil {
					t.Fatal(err)
				}
			}
			if got := h.Live(www); !slices.Equal(got, []string{one, two}) {
				t.Errorf("live: %v", got)
			}
			if got := list(t, a).Set(www).Live(); !slices.Equal(got, []string{one, two}) {
				t.Errorf("listed: %v", got)
			}
			if got, want := posts(f), 2+min(1, len(old)); got != want {
				t.Errorf("%d writes, want %d", got, want)
			}
		})
	}
}

// TestCase38AddingKeepsWhatIsThere: m has 192.0.2.30 of somebody else. Two
// targets recover at once, and 203.0.113.1 and .2 are added; then one alone.
func TestCase38AddingKeepsWhatIsThere(t *testing.T) {
	a, _, h := start(t, route53test.Options{})
	m := key("m", record.A)
	put(h, m, three)
	n := newNode(t, a)
	n.must(m, create(m, one), create(m, two))
	n.must(m, create(m, "203.0.113.3"))
	if got := h.Live(m); !slices.Equal(got, []string{three, one, two, "203.0.113.3"}) {
		t.Errorf("live: %v", got)
	}
}

// TestCase39PrivateZoneOfTheSameName: the account has a private and a public
// zone example.com, listed in either order; or two public ones; or a private one
// alone. Without an id the one public zone is meant, and nothing is guessed.
func TestCase39PrivateZoneOfTheSameName(t *testing.T) {
	byName := func(f *route53test.Fake) *Adapter {
		s := settings(f)
		delete(s.Options, "hosted_zone_id")
		return connect(t, s)
	}
	for _, other := range []string{"Z00BEFORE", "ZZZBEHIND"} {
		f := route53test.Start(t, route53test.Options{})
		f.AddZone("example.com.", other, true)
		f.AddZone("example.org.", "Z00OTHER", false)
		f.AddZone("a.example.com.", "Z00BELOW", false)
		a := byName(f)
		newNode(t, a)
		for _, r := range f.Server.Requests()[1:] {
			if !strings.Contains(r.Path, "/"+route53test.ZoneID) {
				t.Errorf("beside %s: %s %s", other, r.Method, r.Path)
			}
		}
		lines, err := a.Inspect(t.Context())
		if err != nil || !strings.Contains(lines[0], route53test.ZoneID+", public") {
			t.Errorf("inspect: %q, %v", lines, err)
		}
	}
	f := route53test.Start(t, route53test.Options{})
	f.AddZone("example.com.", "Z00SECOND", false)
	_, err := byName(f).List(t.Context())
	fails(t, err, provider.Permanent, "2 public hosted zones", "Z00SECOND", route53test.ZoneID, "hosted_zone_id:")
	given := settings(f)
	given.Options["hosted_zone_id"] = "/hostedzone/Z00SECOND"
	f.Server.Forget()
	newNode(t, connect(t, given))
	for _, r := range f.Server.Requests() {
		if !strings.Contains(r.Path, "/Z00SECOND") {
			t.Errorf("with the id given: %s %s", r.Method, r.Path)
		}
	}
	f = route53test.Start(t, route53test.Options{Private: true})
	_, err = byName(f).List(t.Context())
	fails(t, err, provider.Permanent, "private ones: "+route53test.ZoneID, "hosted_zone_id: "+route53test.ZoneID)
	f = route53test.Start(t, route53test.Options{Zone: "example.org."})
	_, err = byName(f).List(t.Context())
	fails(t, err, provider.Permanent, "no public hosted zone of that name")
	_, err = connect(t, settings(f)).List(t.Context())
	fails(t, err, provider.Permanent, "it is the zone example.org., not example.com.", "correct hosted_zone_id")
}

// TestCase40BadProfile: AWS_PROFILE names a profile that is not there, the
// shared config is malformed, or is no file at all. Check and List say so with the
// profile's name and the process lives on; once the files are mended the zone is
// listed. A zone with keys of its own needs none of that and works.
func TestCase40BadProfile(t *testing.T) {
	f := route53test.Start(t, route53test.Options{})
	dir := t.TempDir()
	config := filepath.Join(dir, "config")
	if err := os.WriteFile(config, []byte("[default]\nregion = eu-west-1\n[profile half]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = gone\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, []byte("[profile \x00\n=x\n[[["), 0o600); err != nil {
		t.Fatal(err)
	}
	mended := filepath.Join(dir, "mended")
	text := ""
	for _, name := range []string{"nosuchprofile", "half"} {
		text += fmt.Sprintf("[profile %s]\naws_access_key_id = %s\naws_secret_access_key = %s\n", name, route53test.AccessKey, route53test.SecretKey)
	}
	if err := os.WriteFile(mended, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	chain := func(profile string) provider.Settings {
		return provider.Settings{Zone: testZone, Options: map[string]string{"endpoint": f.Server.URL, "profile": profile, "hosted_zone_id": route53test.ZoneID}}
	}
	for name, c := range map[string]struct{ file, env, profile, word string }{
		"environment":     {config, "nosuchprofile", "", "nosuchprofile"},
		"config":          {config, "", "nosuchprofile", "nosuchprofile"},
		"source":          {config, "", "half", "gone"},
		"no file":         {filepath.Join(dir, "none"), "nosuchprofile", "", "nosuchprofile"},
		"malformed":       {broken, "nosuchprofile", "", "nosuchprofile"},
		"file is a place": {dir, "nosuchprofile", "", "AWS_ variables"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_CONFIG_FILE", c.file)
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "none"))
			t.Setenv("AWS_PROFILE", c.env)
			t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			a := connect(t, chain(c.profile))
			e := fails(t, a.Check(), provider.Permanent, "look for the credential of zone example.com.", c.word)
			if e.Hint == "" {
				t.Error("no hint")
			}
			_, err := a.List(t.Context())
			fails(t, err, provider.Permanent, c.word)
			list(t, connect(t, settings(f)))
			t.Setenv("AWS_PROFILE", cmp.Or(c.profile, c.env))
			t.Setenv("AWS_CONFIG_FILE", mended)
			list(t, a)
		})
	}
}

// TestCase68Throttling: the API says 400 Throttling, or PriorRequestNotComplete
// three times and then takes it. Each is told as what passes, with a time to wait,
// and no call is sent twice.
func TestCase68Throttling(t *testing.T) {
	a, f, h := start(t, route53test.Options{})
	www := key("www", record.A)
	put(h, www, one)
	n := newNode(t, a)
	for code, wait := range map[string]time.Duration{"Throttling": time.Second, "ThrottlingException": time.Second, "PriorRequestNotComplete": 2 * time.Second} {
		for range 3 {
			f.Server.Arm(route53test.Writes, 0, route53test.Refuse(400, code, "Rate exceeded"))
			call := n.call(www, create(www, two))
			sent := posts(f)
			if e := fails(t, n.send(call), provider.Retryable, code); e.After != wait {
				t.Errorf("%s: after %v, want %v", code, e.After, wait)
			}
			if got := posts(f); got != sent+1 {
				t.Errorf("%s: %d requests for one write", code, got-sent)
			}
		}
		f.Server.Arm(route53test.Reads, 0, route53test.Refuse(400, code, "Rate exceeded"))
		asked := len(f.Server.Requests())
		_, err := a.List(t.Context())
		fails(t, err, provider.Retryable, code)
		if got := len(f.Server.Requests()); got != asked+2 {
			t.Errorf("%s: %d requests for one list that was throttled at its second", code, got-asked)
		}
	}
	n.must(www, create(www, two))
	if got := h.Live(www); !slices.Equal(got, []string{one, two}) {
		t.Errorf("live: %v", got)
	}
}

// TestCase69OneBadChange: of ten pools the fourth wants a CNAME beside an MX,
// which the API refuses, and the seventh pauses a value that is gone. The other
// eight are not held up, and the refusals are about those two and say why.
func TestCase69OneBadChange(t *testing.T) {
	a, f, h := start(t, route53test.Options{})
	h.Put(providertest.RR{Name: "p4.example.com.", Type: "MX", TTL: ttl, Data: "10 mail.example.net."})
	n := newNode(t, a)
	for i, label := range []string{"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"} {
		k := key(label, record.A)
		switch i {
		case 4:
			k.Type = record.CNAME
			before := others(f)
			e := fails(t, n.write(k, create(k, "lb.example.net.")), provider.Permanent, "p4.example.com.", "CNAME", "the change itself is refused")
			if e.Code != codeBatch || !slices.Equal(before, others(f)) {
				t.Errorf("%v, %q", e, others(f))
			}
		case 7:
			fails(t, n.write(k, pause(k, one)), provider.Conflict, "p7.example.com.", "neither live nor parked")
		default:
			n.must(k, create(k, one))
			if got := h.Live(k); !slices.Equal(got, []string{one}) {
				t.Errorf("%s: %v", k, got)
			}
		}
	}
}

// TestCase70WrittenButNotHeard: a create is applied and its reply is lost before
// a header, in the middle of the body, or it never comes. It is told as open, a
// list shows it, and writing it again from the list makes no second record.
func TestCase70WrittenButNotHeard(t *testing.T) {
	for name, fault := range map[string]httpfake.Fault{
		"no header":   {Apply: true, Drop: true},
		"half a body": {Apply: true, Status: 200, Header: http.Header{"Content-Length": {"4096"}}, Body: "<ChangeResourceRecordSetsResponse>"},
		"no reply":    {Apply: true, Hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			a, f, h := start(t, route53test.Options{})
			www := key("www", record.A)
			put(h, www, one)
			n := newNode(t, a)
			call := n.call(www, create(www, two))
			f.Server.Arm(route53test.Writes, 0, fault)
			sent := posts(f)
			ctx, cancel := contextOf(t, 300*time.Millisecond)
			defer cancel()
			fails(t, a.Add(ctx, call), provider.Ambiguous)
			if got := list(t, a); !slices.Equal(got.Set(www).Live(), []string{one, two}) || got.Stamps[0].Nonce != call.Next.Nonce {
				t.Errorf("the list shows %+v, %v", got.Set(www), got.Stamps)
			}
			n.must(www, create(www, two))
			if got := posts(f) - sent; got > 2 {
				t.Errorf("%d writes", got)
			}
			count := 0
			for _, rr := range h.Dump() {
				if rr.Data == two {
					count++
				}
			}
			if count != 1 {
				t.Errorf("%d records of %s", count, two)
			}
		})
	}
}

// pages are what gateways, captive portals and broken proxies answer with.
var pages = map[string]httpfake.Fault{
	"502 page":      {Status: 502, Header: http.Header{"Content-Type": {"text/html"}}, Body: "<html><body>Bad gateway 198.51.100.66</body></html>"},
	"200 page":      {Status: 200, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: "<!DOCTYPE html><html><p>Log in<br></html>"},
	"200 bare page": {Status: 200, Header: http.Header{"Content-Type": {"text/xml"}}, Body: "<html><ResourceRecordSets/></html>"},
	"503 empty":     {Status: 503},
	"520":           {Status: 520, Body: "error code: 520"},
	"truncated":     {Status: 200, Body: `<?xml version="1.0"?><ListResourceRecordSetsResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><ResourceRecordSets><ResourceRecordSet><Name>www`},
	"JSON with BOM": {Status: 200, Body: "\ufeff{\"ok\":true}"},
	"garbage":       {Status: 200, Header: http.Header{"Content-Encoding": {"gzip"}}, Body: "\x1f\x8b\x08garbage"},
	"200 empty":     {Status: 200, Header: http.Header{"Content-Type": {"text/xml"}}},
	"other XML":     {Status: 200, Body: "<ok/>"},
}

// TestCase72PagesForPeople: while the primary is dead the API answers with a
// page, an empty body, half a document or garbage. A list fails as what may pass,
// a write as open, the status is told, nothing of the page is used, and the first
// write after that goes through.
func TestCase72PagesForPeople(t *testing.T) {
	for name, fault := range pages {
		t.Run(name, func(t *testing.T) {
			a, f, h := start(t, route53test.Options{})
			www := key("www", record.A)
			put(h, www, one, two)
			n := newNode(t, a)
			for _, match := range []httpfake.Match{route53test.Reads, zoneReads} {
				f.Server.Arm(match, 0, fault)
				s, err := a.List(t.Context())
				if e := fails(t, err, provider.Retryable); s != nil || len(e.Error()) > 400 {
					t.Errorf("%v beside %v", s, e)
				}
				if fault.Status >= 500 && !strings.Contains(err.Error(), "HTTP 5") {
					t.Errorf("the status is lost: %v", err)
				}
			}
			call := n.call(www, pause(www, one))
			call.Survivors = []string{two}
			f.Server.Arm(route53test.Writes, 0, fault)
			fails(t, n.send(call), provider.Ambiguous)
			if got := h.Live(www); !slices.Equal(got, []string{one, two}) {
				t.Errorf("live: %v", got)
			}
			sent := posts(f)
			if err := n.send(n.call(www, pause(www, one))); err != nil {
				t.Error(err)
			}
			if got := h.Live(www); !slices.Equal(got, []string{two}) || posts(f) != sent+1 {
				t.Errorf("after it is over: %v, %d writes", got, posts(f)-sent)
			}
		})
	}
}

// zoneReads matches the question for the hosted zone itself.
func zoneReads(r *http.Request, _ []byte) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, route53test.ZoneID)
}

// TestCase75ClockSkew: this host's clock is six minutes ahead or behind. It is
// told as such and not as a wrong key, by how much, and as what passes.
func TestCase75ClockSkew(t *testing.T) {
	for ahead, words := range map[time.Duration]string{6 * time.Minute: "and is behind it", -6 * time.Minute: "and is ahead of it"} {
		f := route53test.Start(t, route53test.Options{Ahead: ahead})
		_, err := connect(t, settings(f)).List(t.Context())
		e := fails(t, err, provider.Retryable, "differs by about 3", words, "synchronise this host's clock")
		if e.After < 30*time.Second {
			t.Errorf("after %v", e.After)
		}
	}
}
