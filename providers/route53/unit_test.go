package route53

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/libdns/libdns"
	"pgregory.net/rapid"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
	"sidestep/providers/route53/route53test"
)

func contextOf(t testing.TB, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), d)
}

// TestAttributesSurvive: a set of each routing policy loses its last value and
// gets it back, also when only the parked copy knows how it was.
func TestAttributesSurvive(t *testing.T) {
	for name, attributes := range map[string]string{
		"weighted":     `<Weight>0</Weight>`,
		"latency":      `<Region>eu-west-1</Region>`,
		"geolocation":  `<GeoLocation><CountryCode>US</CountryCode><SubdivisionCode>CA</SubdivisionCode></GeoLocation>`,
		"continent":    `<GeoLocation><ContinentCode>EU</ContinentCode></GeoLocation>`,
		"everywhere":   `<GeoLocation><CountryCode>*</CountryCode></GeoLocation>`,
		"failover":     `<Failover>SECONDARY</Failover>`,
		"multivalue":   `<MultiValueAnswer>true</MultiValueAnswer>`,
		"cidr":         `<CidrRoutingConfig><CollectionId>c8c02a84-aaaa-bbbb-e0d2-d833a2f80106</CollectionId><LocationName>on prem</LocationName></CidrRoutingConfig>`,
		"geoproximity": `<GeoProximityLocation><Coordinates><Latitude>49.22</Latitude><Longitude>-74.01</Longitude></Coordinates><Bias>-10</Bias></GeoProximityLocation>`,
		"proximity of": `<GeoProximityLocation><AWSRegion>us-west-2</AWSRegion></GeoProximityLocation>`,
	} {
		t.Run(name, func(t *testing.T) {
			a, f, h := start(t, route53test.Options{})
			k := key("www", record.A)
			k.Variant = `a "set" of=mine, 100% é`
			h.PutSet(`<Name>www.example.com</Name><Type>A</Type><SetIdentifier>a &quot;set&quot; of=mine, 100% é</SetIdentifier>` + attributes +
				`<TTL>77</TTL><ResourceRecords><ResourceRecord><Value>192.0.2.1</Value></ResourceRecord></ResourceRecords><HealthCheckId>hc-1</HealthCheckId>`)
			n := newNode(t, a)
			before := others(f)
			n.empty(k, pause(k, "192.0.2.1"))
			if got := list(t, a).Set(k); len(got.Answers) != 1 || !got.Answers[0].Paused || got.Answers[0].Live || got.Answers[0].TTL != 77*time.Second {
				t.Errorf("paused: %+v", got)
			}
			n.must(k, resume(k, "192.0.2.1"))
			if diff := cmp.Diff(before, others(f)); diff != "" {
				t.Errorf("before -, after +\n%s", diff)
			}
		})
	}
}

// TestWeights: the first weight parts a plain set, the parts keep what they are,
// and 0 is only given beside one that answers.
func TestWeights(t *testing.T) {
	a, f, h := start(t, route53test.Options{})
	www := key("www", record.A)
	put(h, www, one, two)
	n := newNode(t, a)
	weigh := func(k record.Key, value string, w int) error {
		call := n.call(k, record.Change{Action: record.SetWeight, Key: k, Value: value, Weight: w})
		return n.send(call)
	}
	fails(t, weigh(www, one, 256), provider.Permanent, "256")
	for _, w := range []int{3, 0} {
		if err := weigh(www, one, w); err != nil {
			t.Fatal(err)
		}
	}
	fails(t, weigh(www, two, 0), provider.Conflict, "all of them would be answered with")
	n.must(www, record.Change{Action: record.Create, Key: www, Value: three, TTL: ttl, Weight: 5})
	want := []string{
		"www.example.com. 60 A 192.0.2.30 set=192.0.2.30 weight=5",
		"www.example.com. 60 A 203.0.113.1 set=203.0.113.1 weight=0",
		"www.example.com. 60 A 203.0.113.2 set=203.0.113.2 weight=1",
	}
	got := slices.DeleteFunc(f.Attributes(), func(l string) bool { return !strings.HasPrefix(l, "www.") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	blue := www
	blue.Variant = "blue"
	n.must(blue, record.Change{Action: record.Create, Key: blue, Value: "192.0.2.40", TTL: ttl, Weight: 9})
	if err := weigh(blue, "192.0.2.40", 0); err != nil { // the plain values answer
		t.Fatal(err)
	}
	history := f.History()
	if last := strings.Join(history[len(history)-6:], "\n"); strings.Count(last, "A 192.0.2.30") != 2 {
		t.Errorf("expected the witness among the changes, got\n%s", last)
	}
	latency := key("far", record.A)
	latency.Variant = "eu"
	h.PutSet(`<Name>far.example.com</Name><Type>A</Type><SetIdentifier>eu</SetIdentifier><Region>eu-west-1</Region><TTL>60</TTL><ResourceRecords><ResourceRecord><Value>192.0.2.1</Value></ResourceRecord></ResourceRecords>`)
	fails(t, weigh(latency, "192.0.2.1", 2), provider.Permanent, "latency", "has no weight")
	asia := latency
	asia.Variant = "asia"
	fails(t, n.write(asia, create(asia, one)), provider.Permanent, "which routing policy", "by hand")
}

// TestFollow: after each accepted write the adapter knows what a list shows.
func TestFollow(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a, _, h := start(t, route53test.Options{Weighted: rapid.Bool().Draw(r, "weighted")})
		www, aaaa := key("*.wild", record.A), key("*.wild", record.AAAA)
		put(h, www, one, two)
		put(h, aaaa, "2001:db8::1")
		n := newNode(t, a)
		seen := list(t, a)
		for range 6 {
			k := rapid.SampledFrom([]record.Key{www, aaaa, key("new", record.A)}).Draw(r, "key")
			values := []string{one, two, three}
			if k == aaaa {
				values = []string{"2001:db8::1", "2001:db8::2"}
			}
			c := record.Change{
				Key: k, Value: rapid.SampledFrom(values).Draw(r, "value"), TTL: ttl, Weight: rapid.IntRange(0, 3).Draw(r, "weight"),
				Action: rapid.SampledFrom([]record.Action{record.Create, record.Resume, record.Pause, record.SetTTL, record.SetWeight}).Draw(r, "action"),
			}
			call := n.call(k, c)
			call.Seen, call.Empty = seen, true
			if err := n.send(call); err != nil {
				if a.After(call) != nil {
					r.Fatalf("%v failed, and there is a list after it", c)
				}
				if provider.ClassOf(err) != provider.Conflict {
					r.Fatalf("%v: %v", c, err)
				}
				continue
			}
			followed, listed := a.After(call), list(t, a)
			if followed == nil {
				r.Fatalf("%v: no list after it", c)
			}
			if diff := cmp.Diff(told(listed), told(followed)); diff != "" {
				r.Fatalf("after %v: listed -, followed +\n%s", c, diff)
			}
			seen = followed
		}
	})
}

// told is everything that a snapshot says.
func told(s *provider.Snapshot) []string {
	lines := []string{fmt.Sprint(s.Records), fmt.Sprint(s.Stamps), fmt.Sprint(s.Delegations), fmt.Sprint(s.Fixed)}
	for _, set := range s.Sets {
		lines = append(lines, fmt.Sprintf("%+v", set))
	}
	v := s.Native.(*view) //nolint:forcetypeassert // of our making
	for _, p := range v.places {
		for _, sets := range [][]rrset{p.sets, p.parked, v.stamps} {
			for i := range sets {
				lines = append(lines, alike(&sets[i]))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// TestConfirm waits for INSYNC, and for nothing where nothing was written.
func TestConfirm(t *testing.T) {
	a, f, _ := start(t, route53test.Options{Pending: 3})
	if err := a.Confirm(t.Context()); err != nil || len(f.Server.Requests()) != 0 {
		t.Errorf("%v after %d requests", err, len(f.Server.Requests()))
	}
	holder(t, a)
	f.Server.Forget()
	if err := a.Confirm(t.Context()); err != nil || len(f.Server.Requests()) != 4 {
		t.Errorf("%v after %d requests, want 4", err, len(f.Server.Requests()))
	}
	a.poll = time.Hour
	newNode(t, a)
	ctx, cancel := contextOf(t, 50*time.Millisecond)
	defer cancel()
	fails(t, a.Confirm(ctx), provider.Retryable, "PENDING")
}

// TestRefusals: each error of the API, for a list and for a write.
func TestRefusals(t *testing.T) {
	for code, c := range map[string]struct {
		status      int
		read, write provider.Class
		words       string
	}{
		"AccessDenied":                {403, provider.Permanent, provider.Permanent, "ChangeResourceRecordSets"},
		"InvalidClientTokenId":        {403, provider.Permanent, provider.Permanent, "replaced or deleted"},
		"UnrecognizedClientException": {403, provider.Permanent, provider.Permanent, "replaced or deleted"},
		"ExpiredToken":                {403, provider.Permanent, provider.Permanent, "have ended"},
		"SignatureDoesNotMatch":       {403, provider.Permanent, provider.Permanent, "secret_access_key"},
		"NoSuchHostedZone":            {404, provider.Permanent, provider.Permanent, "hosted_zone_id"},
		"InvalidInput":                {400, provider.Permanent, provider.Permanent, "InvalidInput"},
		"NeverHeardOf":                {400, provider.Permanent, provider.Permanent, "NeverHeardOf"},
		"InternalFailure":             {500, provider.Retryable, provider.Ambiguous, "InternalFailure"},
		"ServiceUnavailable":          {503, provider.Retryable, provider.Ambiguous, "ServiceUnavailable"},
	} {
		t.Run(code, func(t *testing.T) {
			a, f, h := start(t, route53test.Options{})
			www := key("www", record.A)
			put(h, www, one)
			n := newNode(t, a)
			before := f.Attributes()
			f.Server.Arm(route53test.Reads, 0, route53test.Refuse(c.status, code, "because of this"))
			_, err := a.List(t.Context())
			fails(t, err, c.read, code, "because of this", c.words)
			call := n.call(www, create(www, two))
			f.Server.Arm(route53test.Writes, 0, route53test.Refuse(c.status, code, "because of this"))
			fails(t, n.send(call), c.write, code, "because of this", c.words)
			if !slices.Equal(before, f.Attributes()) {
				t.Error("the zone has changed")
			}
		})
	}
}

// TestSilent: an instance's metadata service of the old kind is asked without a
// word of the SDK's own.
func TestSilent(t *testing.T) {
	for _, name := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		t.Setenv(name, t.TempDir()+"/none")
	}
	for _, name := range []string{"AWS_EC2_METADATA_DISABLED", "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"} {
		t.Setenv(name, "")
	}
	var asked atomic.Int32
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.NotFound(w, r)
	}))
	defer metadata.Close()
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.URL)
	said, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func(stderr *os.File) { os.Stderr = stderr }(os.Stderr)
	os.Stderr = pipe
	s := settings(route53test.Start(t, route53test.Options{}))
	s.Secrets = nil
	_, err = connect(t, s).List(t.Context())
	_ = pipe.Close()
	if words, _ := io.ReadAll(said); len(words) > 0 {
		t.Errorf("on stderr: %s", words)
	}
	fails(t, err, provider.Permanent, "no credentials", "access_key_id")
	if asked.Load() < 2 {
		t.Errorf("the metadata service was asked %d times, expected it to be asked for a token and without one", asked.Load())
	}
}

// TestCredentials: keys that are not the account's, half of a pair, a token, a
// role, and none at all.
func TestCredentials(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for _, name := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		t.Setenv(name, t.TempDir()+"/none")
	}
	for _, name := range []string{"AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"} {
		t.Setenv(name, "")
	}
	f := route53test.Start(t, route53test.Options{})
	with := func(change func(*provider.Settings)) provider.Settings {
		s := settings(f)
		change(&s)
		return s
	}
	_, err := connect(t, with(func(s *provider.Settings) { s.Secrets["access_key_id"] = provider.NewSecret("AKIASOMEBODYELSE") })).List(t.Context())
	fails(t, err, provider.Permanent, "InvalidClientTokenId", "replaced or deleted")
	_, err = connect(t, with(func(s *provider.Settings) { s.Secrets = nil })).List(t.Context())
	fails(t, err, provider.Permanent, "no credentials", "access_key_id")
	for name, change := range map[string]func(*provider.Settings){
		"both or neither": func(s *provider.Settings) { delete(s.Secrets, "secret_access_key") },
		"session_token": func(s *provider.Settings) {
			s.Secrets = map[string]provider.Secret{"session_token": provider.NewSecret("t")}
		},
		"profile":        func(s *provider.Settings) { s.Options["profile"] = "p" },
		"hosted_zone_id": func(s *provider.Settings) { s.Options["hosted_zone_id"] = "../change/C1" },
		"in the clear":   func(s *provider.Settings) { s.Options["endpoint"] = "http://192.0.2.1/" },
		"https://HOST":   func(s *provider.Settings) { s.Options["endpoint"] = "ftp://192.0.2.1/" },
	} {
		_, err := New(with(change))
		fails(t, err, provider.Permanent, name)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", route53test.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", route53test.SecretKey)
	list(t, connect(t, with(func(s *provider.Settings) { s.Secrets = nil })))
	t.Setenv("AWS_ENDPOINT_URL_STS", f.Server.URL)
	role := with(func(s *provider.Settings) {
		s.Secrets, s.Options["role_arn"] = nil, "arn:aws:iam::123456789012:role/dns"
	})
	newNode(t, connect(t, role))
	f.Server.Arm(func(r *http.Request, _ []byte) bool { return r.URL.Path == "/" }, 0, route53test.Refuse(403, "AccessDenied", "not authorized to perform: sts:AssumeRole"))
	_, err = connect(t, role).List(t.Context())
	fails(t, err, provider.Permanent, "AccessDenied", "sts:AssumeRole", "role_arn")
	token := route53test.Start(t, route53test.Options{Token: "tok"})
	s := settings(token)
	s.Secrets["session_token"] = provider.NewSecret("tok")
	newNode(t, connect(t, s))
}

// TestListsThatLie: pages that lead to themselves, have lost the zone's own
// records, or lack what every answer has.
func TestListsThatLie(t *testing.T) {
	const head = `<ListResourceRecordSetsResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><ResourceRecordSets>`
	const www = `<ResourceRecordSet><Name>www.example.com.</Name><Type>A</Type><TTL>60</TTL><ResourceRecords><ResourceRecord><Value>192.0.2.1</Value></ResourceRecord></ResourceRecords></ResourceRecordSet>`
	const tail = `<MaxItems>300</MaxItems></ListResourceRecordSetsResponse>`
	for name, c := range map[string]struct{ body, words string }{
		"circle":     {head + www + `</ResourceRecordSets><IsTruncated>true</IsTruncated><NextRecordName>www.example.com.</NextRecordName><NextRecordType>A</NextRecordType>` + tail, "circle"},
		"nowhere":    {head + www + `</ResourceRecordSets><IsTruncated>true</IsTruncated>` + tail, "circle"},
		"no SOA":     {head + strings.Repeat(www, 3) + `</ResourceRecordSets><IsTruncated>false</IsTruncated>` + tail, "no SOA"},
		"no fields":  {head + strings.Repeat(`<ResourceRecordSet></ResourceRecordSet>`, 3) + `</ResourceRecordSets><IsTruncated>false</IsTruncated>` + tail, "no SOA"},
		"no MaxItem": {head + www + `</ResourceRecordSets><IsTruncated>false</IsTruncated></ListResourceRecordSetsResponse>`, "not one of the API"},
		"no list":    {`<ListResourceRecordSetsResponse><IsTruncated>false</IsTruncated>` + tail, "not one of the API"},
	} {
		a, f, h := start(t, route53test.Options{})
		put(h, key("www", record.A), one)
		for range 4 {
			f.Server.Arm(route53test.Reads, 0, httpfake.Fault{Status: 200, Body: c.body})
		}
		s, err := a.List(t.Context())
		if fails(t, err, provider.Retryable, c.words); s != nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestMalformedSets: a foreign set that cannot be an answer is told and carried
// along, whatever is done to its siblings.
func TestMalformedSets(t *testing.T) {
	a, f, h := start(t, route53test.Options{})
	www := key("www", record.A)
	h.PutSet(`<Name>www.example.com</Name><Type>A</Type><TTL>60</TTL><ResourceRecords><ResourceRecord><Value>0.0.0.0</Value></ResourceRecord><ResourceRecord><Value>203.0.113.1</Value></ResourceRecord><ResourceRecord><Value>203.0.113.2</Value></ResourceRecord></ResourceRecords>`)
	h.PutSet(`<Name>b!d.example.com</Name><Type>A</Type><TTL>60</TTL><ResourceRecords><ResourceRecord><Value>192.0.2.1</Value></ResourceRecord></ResourceRecords>`)
	n := newNode(t, a)
	if got := list(t, a); len(got.Sets) != 1 || len(got.Skipped) != 2 {
		t.Errorf("%+v, %q", got.Sets, got.Skipped)
	}
	before := others(f)
	n.must(www, pause(www, one))
	n.must(www, resume(www, one))
	if diff := cmp.Diff(before, others(f)); diff != "" {
		t.Errorf("before -, after +\n%s", diff)
	}
}

// TestTooLarge: more than one request takes is refused before it is sent.
func TestTooLarge(t *testing.T) {
	a, f, _ := start(t, route53test.Options{})
	n := newNode(t, a)
	www := key("www", record.A)
	var changes []record.Change
	for i := range 1001 {
		changes = append(changes, create(www, fmt.Sprintf("10.0.%d.%d", i/250, i%250)))
	}
	call := n.call(www, changes...)
	sent := posts(f)
	fails(t, n.send(call), provider.Permanent, "1000")
	if posts(f) != sent {
		t.Error("it was sent")
	}
}

// TestSwitchCosts one list, one write and one list to verify, each of two reads.
func TestSwitchCosts(t *testing.T) {
	a, f, h := start(t, route53test.Options{})
	www := key("www", record.A)
	put(h, www, one)
	n := newNode(t, a)
	f.Server.Forget()
	n.must(www, create(www, two), pause(www, one))
	list(t, a)
	var got []string
	for _, r := range f.Server.Requests() {
		got = append(got, r.Method)
	}
	if want := []string{"GET", "GET", "POST", "GET", "GET"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestText: what Route 53 writes is read to the bytes that it means and back.
func TestText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 0, 600).Draw(t, "text"))
		got, err := parseText(formatText(text))
		if err != nil || got != text {
			t.Fatalf("%q became %q (%v)", text, got, err)
		}
		if got := unquote(quote(text)); got != text {
			t.Fatalf("%q became %q as a field", text, got)
		}
	})
	for in, want := range map[string]record.Name{`\052.example.com.`: "*.example.com.", `\052.A.example.com`: "*.a.example.com.", "www.example.com.": "www.example.com."} {
		if got, err := parseName(in); err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{`a\056b.example.com.`, `\9.example.com.`, `\777.example.com.`, `\`, ``} {
		if got, err := parseName(in); err == nil {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// TestHealthCheckStays: a plain set has a health check. It goes with each value
// when weights part the set, is there again when the last value was paused and
// comes back, and stays where libdns writes, which has no word for it.
func TestHealthCheckStays(t *testing.T) {
	www := key("www", record.A)
	record2 := []libdns.Record{libdns.RR{Name: "www", Type: "A", TTL: ttl, Data: two}}
	for name, write := range map[string]func(n *node) error{
		"part": func(n *node) error {
			return n.write(www, record.Change{Action: record.SetWeight, Key: www, Value: one, Weight: 5})
		},
		"all paused": func(n *node) error {
			n.empty(www, pause(www, one), pause(www, two))
			return n.write(www, resume(www, one))
		},
		"libdns append": func(n *node) error { _, err := n.a.AppendRecords(n.t.Context(), testZone, record2); return err },
		"libdns set":    func(n *node) error { _, err := n.a.SetRecords(n.t.Context(), testZone, record2); return err },
	} {
		t.Run(name, func(t *testing.T) {
			a, f, h := start(t, route53test.Options{})
			h.PutSet(`<Name>www.example.com</Name><Type>A</Type><TTL>60</TTL><ResourceRecords><ResourceRecord><Value>` + one + `</Value></ResourceRecord><ResourceRecord><Value>` + two + `</Value></ResourceRecord></ResourceRecords><HealthCheckId>hc-1</HealthCheckId>`)
			if err := write(newNode(t, a)); err != nil {
				t.Fatal(err)
			}
			for _, l := range others(f) {
				if strings.HasPrefix(l, "www.") && !strings.HasSuffix(l, "health=hc-1") && !strings.Contains(l, "health=hc-1 ") {
					t.Errorf("without its health check: %s", l)
				}
			}
		})
	}
}

// TestLibdnsReadsWhole: an empty list, and one that was cut, are errors to other
// programs too; a deletion without a name deletes nothing.
func TestLibdnsReadsWhole(t *testing.T) {
	a, f, h := start(t, route53test.Options{})
	put(h, key("www", record.A), one)
	h.Put(providertest.RR{Name: testZone, Type: "TXT", TTL: ttl, Data: `"note"`})
	before := f.Attributes()
	_, err := a.DeleteRecords(t.Context(), testZone, []libdns.Record{libdns.RR{Name: "@", Type: "MX"}, libdns.RR{Type: "TXT"}})
	fails(t, err, provider.Permanent, "no name", "@")
	if diff := cmp.Diff(before, f.Attributes()); diff != "" {
		t.Errorf("before -, after +\n%s", diff)
	}
	h.Fault(providertest.EmptyList)
	_, err = a.GetRecords(t.Context(), testZone)
	fails(t, err, provider.Retryable, "empty")
	f.CutNext()
	_, err = a.GetRecords(t.Context(), testZone)
	fails(t, err, provider.Retryable, "not whole")
}

// TestPagesInACircle: of three pages the last leads back to the first.
func TestPagesInACircle(t *testing.T) {
	c := &canned{count: 3}
	for _, next := range []string{"b", "c", "a"} {
		c.pages = append(c.pages, []byte(pageHead+pageSOA+`</ResourceRecordSets><IsTruncated>true</IsTruncated><NextRecordName>`+next+`</NextRecordName><NextRecordType>A</NextRecordType>`+pageTail))
	}
	ctx, cancel := contextOf(t, 10*time.Second)
	defer cancel()
	_, err := offline(t, c).GetRecords(ctx, testZone)
	fails(t, err, provider.Retryable, "circle")
	if c.next > 4 {
		t.Errorf("%d pages were read", c.next)
	}
}
