package rfc2136

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"pgregory.net/rapid"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/providertest/realserver"
	"sidestep/pkg/record"
	"sidestep/providers/rfc2136/rfc2136test"
)

func TestSettings(t *testing.T) {
	const secret = "c2VjcmV0IHRoYXQgbm9ib2R5IHNlZXM="
	for _, row := range []struct {
		options  string // key=value, commas
		secret   string
		insecure bool
		wrong    string // in the error; empty for none
	}{
		{"server=192.0.2.53,tsig.name=k", secret, false, ""},
		{"server=ns1.example.net:5353,tsig.name=K.,tsig.algorithm=HMAC-SHA512", secret, false, ""},
		{"server=[2001:db8::53]:53,tsig.name=k,tsig.algorithm=hmac-sha1", secret, false, ""},
		{"server=2001:db8::53,tsig.name=k,tsig.algorithm=hmac-sha224.", secret, false, ""},
		{"server=127.0.0.1", "", false, ""},
		{"server=[::1]:5300", "", false, ""},
		{"server=localhost:5300", "", false, ""},
		{"server=192.0.2.53", "", true, ""},
		{"server=192.0.2.53", "", false, "no tsig key"},
		{"server=127.0.0.1,transfer_from=192.0.2.53", "", false, "no tsig key"},
		{"server=", "", true, "server: expected"},
		{"server=127.0.0.1:0", "", true, "port"},
		{"server=127.0.0.1:99999", "", true, "port"},
		{"server=bad host", "", true, "neither an address"},
		{"server=127.0.0.1,transfer_from=127.0.0.1:x", "", true, "transfer_from"},
		{"server=127.0.0.1,tsig.name=k", "", false, "secret"},
		{"server=127.0.0.1", secret, false, "name"},
		{"server=127.0.0.1,tsig.name=k", "not base64!", false, "base64"},
		{"server=127.0.0.1,tsig.name=k..x", secret, false, "not a domain name"},
		{"server=127.0.0.1,tsig.name=k,tsig.algorithm=hmac-md5", secret, false, "hmac-md5 must not"},
		{"server=127.0.0.1,tsig.name=k,tsig.algorithm=hmac-md5.sig-alg.reg.int", secret, false, "hmac-md5 must not"},
		{"server=127.0.0.1,tsig.name=k,tsig.algorithm=rsa", secret, false, "algorithm"},
	} {
		s := provider.Settings{Zone: testZone, Options: map[string]string{}, Insecure: row.insecure}
		for pair := range strings.SplitSeq(row.options, ",") {
			key, value, _ := strings.Cut(pair, "=")
			s.Options[key] = value
		}
		if row.secret != "" {
			s.Secrets = map[string]provider.Secret{"tsig.secret": provider.NewSecret(row.secret)}
		}
		a, err := New(s)
		switch {
		case row.wrong == "" && (err != nil || a == nil):
			t.Errorf("%s: expected an adapter, got %v", row.options, err)
		case row.wrong != "" && (err == nil || a != nil || !strings.Contains(err.Error(), row.wrong) || provider.ClassOf(err) != provider.Permanent):
			t.Errorf("%s: expected a permanent error about %q, got %v", row.options, row.wrong, err)
		case err != nil && row.secret != "" && strings.Contains(err.Error(), row.secret):
			t.Errorf("%s: the error shows the secret: %v", row.options, err)
		}
	}
}

func TestPromises(t *testing.T) {
	s := provider.Settings{Zone: testZone, Options: map[string]string{"server": "127.0.0.1"}}
	for _, row := range []struct {
		spoil     func(*provider.Settings)
		late, lag time.Duration
	}{
		{func(*provider.Settings) {}, lateUnsigned, 0},
		{func(s *provider.Settings) { s.Late, s.Lag = 3*time.Second, time.Second }, 3 * time.Second, time.Second},
		{func(s *provider.Settings) { s.Options["transfer_from"] = "127.0.0.2" }, lateUnsigned, lagSecondary},
		{func(s *provider.Settings) {
			s.Options["tsig.name"], s.Secrets = "k", map[string]provider.Secret{"tsig.secret": provider.NewSecret("eA==")}
		}, lateSigned, lagSecondary},
	} {
		row.spoil(&s)
		a, err := build(s)
		if err != nil {
			t.Fatal(err)
		}
		p := a.Promises()
		if p.Late != row.late || p.Lag != row.lag || !p.Fenced || !p.Atomic || !p.Together || !p.Single || p.OneByOne || p.Pause != provider.PauseParked || p.Call != callDeadline {
			t.Errorf("expected late %v and lag %v, got %+v", row.late, row.lag, p)
		}
		s.Late, s.Lag = 0, 0
	}
}

// forgiving answers every update with success, as an emulator may that has no
// idea of prerequisites.
func forgiving(t *testing.T, rcode int) string {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	key := rfc2136test.TestKey
	server := &dns.Server{Listener: listener, TsigSecret: map[string]string{key.Name: key.Secret}, MsgAcceptFunc: func(dns.Header) dns.MsgAcceptAction { return dns.MsgAccept }}
	server.Handler = dns.HandlerFunc(func(w dns.ResponseWriter, request *dns.Msg) {
		reply := new(dns.Msg)
		reply.SetRcode(request, rcode)
		reply.SetTsig(key.Name, dns.HmacSHA256, 300, time.Now().Unix())
		if err := w.WriteMsg(reply); err != nil {
			t.Errorf("reply: %v", err)
		}
	})
	ended := make(chan error, 1)
	go func() { ended <- server.ActivateAndServe() }()
	t.Cleanup(func() {
		if err := errors.Join(server.Shutdown(), <-ended); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return listener.Addr().String()
}

func emptyView(t *testing.T) *provider.Snapshot {
	t.Helper()
	b := newBuilder(testZone)
	b.apex = true
	seen, err := b.finish()
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func TestProveFindsAServerThatDoesNotCompare(t *testing.T) {
	a := connect(t, &rfc2136test.Server{Process: &realserver.Process{Addr: forgiving(t, dns.RcodeSuccess)}, Zone: testZone, Key: rfc2136test.TestKey})
	err := a.Prove(t.Context(), emptyView(t), stamp(1), nil)
	if !errors.Is(err, provider.ErrNotFenced) || a.Promises().Fenced {
		t.Fatalf("expected ErrNotFenced and the promise gone, got %v, fenced %v", err, a.Promises().Fenced)
	}
	call := provider.Call{Key: wwwA, Seen: emptyView(t), Add: []record.Change{{Action: record.Create, Key: wwwA, Value: "192.0.2.1"}}}
	if err := a.Add(t.Context(), call); err != nil {
		t.Errorf("unfenced, without a stamp: expected success, got %v", err)
	}
}

func TestServfail(t *testing.T) {
	a := connect(t, &rfc2136test.Server{Process: &realserver.Process{Addr: forgiving(t, dns.RcodeServerFailure)}, Zone: testZone, Key: rfc2136test.TestKey})
	failed(t, a.Claim(t.Context(), emptyView(t), stamp(1), nil), provider.Ambiguous, "SERVFAIL", "")
	_, err := a.List(t.Context())
	failed(t, err, provider.Retryable, "SERVFAIL", "")
}

func TestNobodyAnswersThere(t *testing.T) {
	a := connect(t, &rfc2136test.Server{Process: &realserver.Process{Addr: "127.0.0.1:1"}, Zone: testZone, Key: rfc2136test.TestKey})
	_, err := a.List(t.Context())
	failed(t, err, provider.Retryable, "", "check server and transfer_from")
	failed(t, a.Claim(t.Context(), emptyView(t), stamp(1), nil), provider.Retryable, "", "check server and transfer_from")
}

func TestCallsThatAreNone(t *testing.T) {
	a := connect(t, &rfc2136test.Server{Process: &realserver.Process{Addr: "127.0.0.1:1"}, Zone: testZone, Key: rfc2136test.TestKey})
	good := provider.Call{Key: wwwA, Seen: emptyView(t), Next: stamp(1), Add: []record.Change{{Action: record.Create, Key: wwwA, Value: "192.0.2.1"}}}
	for what, spoil := range map[string]func(*provider.Call){
		"no list":             func(c *provider.Call) { c.Seen = nil },
		"another zone's list": func(c *provider.Call) { c.Seen = &provider.Snapshot{Zone: "example.net."} },
		"another's list":      func(c *provider.Call) { c.Seen = &provider.Snapshot{Zone: testZone, Native: 7} },
		"no stamp":            func(c *provider.Call) { c.Next = provider.Stamp{} },
		"a variant":           func(c *provider.Call) { c.Key.Variant = "telecom" },
		"a type":              func(c *provider.Call) { c.Key.Type = record.TXT },
		"another zone":        func(c *provider.Call) { c.Key.Zone = "example.net." },
		"a take-away":         func(c *provider.Call) { c.Away = c.Add },
		"a value":             func(c *provider.Call) { c.Add = []record.Change{{Action: record.Create, Value: "192.0.2.010"}} },
		"another family":      func(c *provider.Call) { c.Add = []record.Change{{Action: record.Create, Value: "2001:db8::1"}} },
		"a weight":            func(c *provider.Call) { c.Add = []record.Change{{Action: record.SetWeight, Value: "192.0.2.1"}} },
		"an action":           func(c *provider.Call) { c.Add = []record.Change{{Action: "delete", Value: "192.0.2.1"}} },
		"a TTL below nothing": func(c *provider.Call) { c.Add[0].TTL = -time.Second },
		"a TTL above all":     func(c *provider.Call) { c.Add[0].TTL = 1 << 62 },
		"two TTLs": func(c *provider.Call) {
			c.Add[0].TTL = 1e9
			c.Add = append(c.Add, record.Change{Action: record.Create, Value: "192.0.2.2", TTL: 2e9})
		},
		"a survivor's spelling": func(c *provider.Call) { c.Survivors = []string{"x"} },
	} {
		call := good
		call.Add = slices.Clone(good.Add)
		spoil(&call)
		call.Gate = func() error { t.Errorf("%s: the gate was asked", what); return errors.New("no") }
		if err := a.Add(t.Context(), call); provider.ClassOf(err) != provider.Permanent {
			t.Errorf("%s: expected Permanent, got %v", what, err)
		}
	}
	failed(t, a.Add(t.Context(), good), provider.Retryable, "", "refused")
}

// A transfer's messages may go unsigned between two that are (RFC 8945 section
// 5.3.1); none of them can be changed, and the first and last have a signature.
func TestChainOfSignatures(t *testing.T) {
	secret := rfc2136test.TestKey.Secret
	k, err := parseKey("test.", "", provider.NewSecret(secret))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1764460800, 0)
	query := new(dns.Msg)
	query.SetAxfr(testZone)
	_, mac, err := k.sign(query, now)
	if err != nil {
		t.Fatal(err)
	}
	part := func(i int, prior string, timers bool) ([]byte, string) {
		m := new(dns.Msg)
		m.SetReply(query)
		m.Answer = []dns.RR{&dns.TXT{Hdr: dns.RR_Header{Name: fmt.Sprintf("n%d.example.com.", i), Rrtype: dns.TypeTXT, Class: dns.ClassINET}, Txt: []string{"x"}}}
		m.SetTsig("test.", dns.HmacSHA256, 300, now.Unix())
		wire, mac, err := dns.TsigGenerate(m, secret, prior, timers)
		if err != nil {
			t.Fatal(err)
		}
		return wire, mac
	}
	first, firstMAC := part(1, hex.EncodeToString(mac), false)
	second, _ := part(2, firstMAC, true)
	check := func(at time.Time, wires ...[]byte) error {
		c := chain{key: k, now: func() time.Time { return at }, prior: mac}
		for i, wire := range wires {
			m, err := parseMessage(wire)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.next(m, i == len(wires)-1); err != nil {
				return err
			}
		}
		return nil
	}
	bare := new(dns.Msg)
	bare.SetReply(query)
	unsigned, err := bare.Pack()
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(second)
	flipped[14] ^= 1
	if err := check(now, first, second); err != nil {
		t.Errorf("two signed messages: %v", err)
	}
	for what, err := range map[string]error{
		"unsigned first":      check(now, unsigned, first),
		"unsigned last":       check(now, first, unsigned),
		"unsigned alone":      check(now, unsigned),
		"one left out":        check(now, second),
		"twice the same":      check(now, first, first),
		"changed":             check(now, first, flipped),
		"one slipped in":      check(now, first, unsigned, second),
		"far from our clock":  check(now.Add(time.Hour), first),
		"too many in between": check(now, append([][]byte{first}, slices.Repeat([][]byte{unsigned}, maxUnsigned+1)...)...),
	} {
		if err == nil {
			t.Errorf("%s: expected an error", what)
		}
	}
}

// An unsigned message in the middle is covered by the next signature.
func TestChainCoversUnsignedMessages(t *testing.T) {
	k, err := parseKey("test.", "hmac-sha512", provider.NewSecret(rfc2136test.TestKey.Secret))
	if err != nil {
		t.Fatal(err)
	}
	middle := &message{wire: []byte("abc")}
	last := &message{wire: make([]byte, 12), signedLen: 12, signature: &dns.TSIG{Hdr: dns.RR_Header{Name: "test."}, Algorithm: dns.HmacSHA512, MACSize: 64}}
	last.wire[11] = 1
	c := chain{key: k, now: time.Now, prior: []byte("prior"), begun: true, pending: []byte("abc")}
	content, err := c.content(last)
	if err != nil {
		t.Fatal(err)
	}
	last.signature.MAC = hex.EncodeToString(k.mac(content))
	fresh := chain{key: k, now: time.Now, prior: []byte("prior"), begun: true}
	if err := fresh.next(middle, false); err != nil {
		t.Fatal(err)
	}
	if err := fresh.next(last, true); err != nil {
		t.Errorf("expected the signature to cover the unsigned message, got %v", err)
	}
}

// Whatever a call does, a value that was live or parked is live or parked
// afterwards, and texts that are not ours stay.
func TestDraftNeverLoses(t *testing.T) {
	values := []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"}
	rapid.Check(t, func(t *rapid.T) {
		v := drawView(t, values)
		d, err := newDraft("test", wwwA, v)
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 5).Draw(t, "changes") {
			_ = d.apply(record.Change{
				Action: rapid.SampledFrom([]record.Action{record.Create, record.Resume, record.Pause, record.Swap, record.SetTTL}).Draw(t, "action"),
				Value:  rapid.SampledFrom(values).Draw(t, "value"), From: rapid.SampledFrom(values).Draw(t, "from"),
				TTL: time.Duration(rapid.IntRange(0, 2).Draw(t, "ttl")) * time.Minute,
			}) // a refused change leaves the draft to be thrown away, and must not lose either
		}
		after, parked := d.after(), d.parkedAfter()
		for _, value := range values {
			was := holds(v.sets[d.id], v.sets[setID{provider.ParkedName(wwwA.Name), dns.TypeTXT}], value)
			if is := holds(after, parked, value); was && !is {
				t.Fatalf("%s is lost", value)
			}
		}
		for _, data := range v.sets[setID{provider.ParkedName(wwwA.Name), dns.TypeTXT}].data {
			if text, _ := textOf(data); !strings.Contains(text, "type=A") && !slices.Contains(parked.data, data) {
				t.Fatalf("lost: %q", text)
			}
		}
		if len(after.data) != len(slices.Compact(slices.Sorted(slices.Values(after.data)))) {
			t.Fatalf("a value twice: %q", after.data)
		}
	})
}

func drawView(t *rapid.T, values []string) *view {
	v := &view{sets: map[setID]rrset{}, beside: map[record.Name]uint16{}}
	live, parked := rrset{ttl: 60}, rrset{ttl: 300}
	for _, value := range values {
		if rapid.Bool().Draw(t, "live "+value) {
			data, err := dataOf(record.A, value)
			if err != nil {
				t.Fatal(err)
			}
			live.data = append(live.data, data)
		}
		if rapid.Bool().Draw(t, "parked "+value) {
			parked.data = append(parked.data, textData(provider.Parked{Type: record.A, Value: value, TTL: time.Minute}.String()))
		}
	}
	parked.data = append(parked.data, textData("v=sidestep1 type=AAAA value=2001:db8::1 ttl=60"), textData("a note"))
	v.sets[setID{wwwA.Name, dns.TypeA}] = live
	v.sets[setID{provider.ParkedName(wwwA.Name), dns.TypeTXT}] = parked
	return v
}

func holds(live, parked rrset, value string) bool {
	data, err := dataOf(record.A, value)
	if err != nil {
		return false
	}
	return slices.Contains(live.data, data) || slices.ContainsFunc(parked.data, func(data string) bool {
		text, err := textOf(data)
		return err == nil && strings.Contains(text, "value="+value+" ")
	})
}
