package provider

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sidestep/pkg/record"
)

func TestStampText(t *testing.T) {
	at := time.Unix(1764460800, 0).UTC()
	for _, c := range []struct {
		stamp Stamp
		want  string
	}{
		{Stamp{Holder: "mon-1", At: at, Epoch: 12, Seq: 40, Nonce: "5f0c"}, "v=1 holder=mon-1 at=1764460800 epoch=12 seq=40 nonce=5f0c"},
		{Stamp{Holder: "mon-1", At: at, Epoch: 12, Cluster: 0xcdf818194e3a8c32, Seq: 40, Nonce: "5f0c"}, "v=1 holder=mon-1 at=1764460800 epoch=12 cluster=cdf818194e3a8c32 seq=40 nonce=5f0c"},
		{Stamp{Holder: "mon-1", At: at, Epoch: 12, Cluster: 0xcdf818194e3a8c32, Group: 0x1a2b3c4d, Seq: 40, Nonce: "5f0c"}, "v=1 holder=mon-1 at=1764460800 epoch=12 cluster=cdf818194e3a8c32 group=1a2b3c4d seq=40 nonce=5f0c"},
		{Stamp{Holder: "mon-1", At: at, Nonce: "5f0c", Released: true}, "v=1 holder=mon-1 at=1764460800 epoch=0 seq=0 nonce=5f0c released=1"},
		{Stamp{At: at, Nonce: "5f0c"}, "v=1 holder=- at=1764460800 epoch=0 seq=0 nonce=5f0c"},
		{Stamp{Holder: `two words="x"`, At: at, Nonce: "5f0c"}, "v=1 holder=two-words--x- at=1764460800 epoch=0 seq=0 nonce=5f0c"},
		{Stamp{Raw: "  as it was, byte for byte ", Holder: "ignored"}, "  as it was, byte for byte "},
	} {
		if got := c.stamp.String(); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.stamp, got, c.want)
		}
	}
}

func TestParseStamp(t *testing.T) {
	at := time.Unix(1764460800, 0).UTC()
	for _, c := range []struct {
		text string
		want Stamp
	}{
		{"v=1 holder=mon-1 at=1764460800 epoch=12 seq=40 nonce=5f0c", Stamp{Holder: "mon-1", At: at, Epoch: 12, Seq: 40, Nonce: "5f0c"}},
		{"v=1 holder=mon-1 at=1764460800 epoch=12 seq=40 nonce=5f0c released=1", Stamp{Holder: "mon-1", At: at, Epoch: 12, Seq: 40, Nonce: "5f0c", Released: true}},
		{"v=1 holder=mon-1 at=1764460800 epoch=12 cluster=cdf818194e3a8c32 seq=40 nonce=5f0c", Stamp{Holder: "mon-1", At: at, Epoch: 12, Cluster: 0xcdf818194e3a8c32, Seq: 40, Nonce: "5f0c"}},
		{"v=1 holder=mon-1 at=1764460800 epoch=12 cluster=none seq=40 nonce=5f0c", Stamp{Holder: "mon-1", At: at, Epoch: 12, Seq: 40, Nonce: "5f0c"}},
		{"v=1  nonce=5f0c   holder=mon-1 more=later", Stamp{Holder: "mon-1", Nonce: "5f0c"}},
		{"v=1 holder=mon-1 at=soon epoch=-1 seq=x nonce=5f0c", Stamp{Holder: "mon-1", Nonce: "5f0c"}},
		{"v=2 holder=mon-1 nonce=5f0c", Stamp{}},
		{"holder=mon-1 nonce=5f0c", Stamp{}},
		{"written by hand", Stamp{}},
		{"", Stamp{}},
	} {
		c.want.Raw = c.text
		if diff := cmp.Diff(c.want, ParseStamp(c.text)); diff != "" {
			t.Errorf("ParseStamp(%q): want -, got +\n%s", c.text, diff)
		}
	}
}

// A stamp that is not ours never looks like ours, and any stamp survives the
// way into the zone and back.
func TestStampRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		made := Stamp{
			Holder:   rapid.StringMatching(`[a-z][a-z0-9.-]{0,20}`).Draw(t, "holder"),
			At:       time.Unix(rapid.Int64Range(0, 1<<40).Draw(t, "at"), 0).UTC(),
			Epoch:    rapid.Uint64().Draw(t, "epoch"),
			Cluster:  rapid.Uint64().Draw(t, "cluster"),
			Group:    uint64(rapid.Uint32().Draw(t, "group")),
			Seq:      rapid.Uint64().Draw(t, "seq"),
			Nonce:    rapid.StringMatching(`[0-9a-f]{16}`).Draw(t, "nonce"),
			Released: rapid.Bool().Draw(t, "released"),
		}
		read := ParseStamp(made.String())
		if read.String() != made.String() {
			t.Fatalf("expected the text %q to stay, got %q", made, read)
		}
		read.Raw = ""
		if diff := cmp.Diff(made, read); diff != "" {
			t.Fatalf("want -, got +\n%s", diff)
		}
	})
}

func TestStampHolderIsOneField(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		holder := rapid.String().Draw(t, "holder")
		read := ParseStamp(Stamp{Holder: holder, Nonce: "real"}.String())
		if read.Nonce != "real" || read.Released {
			t.Fatalf("a holder called %q changed the other fields: %+v", holder, read)
		}
	})
}

func TestParkedName(t *testing.T) {
	for _, c := range []struct{ name, parked record.Name }{
		{"www.example.com.", "_sidestep-paused.www.example.com."},
		{"example.com.", "_sidestep-paused.example.com."},
		{"*.example.com.", "_sidestep-paused._wildcard.example.com."},
		{"*.a.example.com.", "_sidestep-paused._wildcard.a.example.com."},
	} {
		if got := ParkedName(c.name); got != c.parked {
			t.Errorf("ParkedName(%s) = %s, want %s", c.name, got, c.parked)
		}
		if owner, ok := ParkedOwner(c.parked); !ok || owner != c.name {
			t.Errorf("ParkedOwner(%s) = %s, %v, want %s", c.parked, owner, ok, c.name)
		}
	}
	for _, name := range []record.Name{"www.example.com.", "_sidestep.example.com.", "_sidestep-pausedx.example.com.", "a._sidestep-paused.example.com."} {
		if owner, ok := ParkedOwner(name); ok {
			t.Errorf("ParkedOwner(%s) = %s, want none", name, owner)
		}
	}
}

func TestParkedText(t *testing.T) {
	p := Parked{Type: record.A, Value: "203.0.113.10", TTL: time.Minute, Extra: map[string]string{"weight": "3", "line": "a b"}}
	const want = "v=sidestep1 type=A value=203.0.113.10 ttl=60 line=a-b weight=3"
	if got := p.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParkedRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Parked{
			Type:  record.AAAA,
			Value: "2001:db8::" + rapid.StringMatching(`[1-9a-f][0-9a-f]{0,3}`).Draw(t, "value"),
			TTL:   time.Duration(rapid.Int64Range(0, 1<<31-1).Draw(t, "ttl")) * time.Second,
			Extra: rapid.MapOf(rapid.StringMatching(`x[a-z]{1,5}`), rapid.StringMatching(`[!-<>-Z_a-z]{1,8}`)).Draw(t, "extra"),
		}
		if len(p.Extra) == 0 {
			p.Extra = nil
		}
		for key, value := range p.Extra {
			p.Extra[key] = field(value)
		}
		read, err := ParseParked(p.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, read); diff != "" {
			t.Fatalf("want -, got +\n%s", diff)
		}
	})
}

func TestParseParkedRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "v=sidestep1"},
		{"v=sidestep2 type=A value=192.0.2.1 ttl=60", "v=sidestep1"},
		{"v=sidestep1 type=MX value=192.0.2.1 ttl=60", "expected A, AAAA or CNAME"},
		{"v=sidestep1 type=A value=2001:db8::1 ttl=60", "other family"},
		{"v=sidestep1 type=A value=192.0.2.010 ttl=60", "192.0.2.010"},
		{"v=sidestep1 type=A value=192.0.2.1", "ttl"},
		{"v=sidestep1 type=A value=192.0.2.1 ttl=-1", "ttl"},
		{"v=sidestep1 type=A value=192.0.2.1 ttl=2147483648", "ttl"},
	} {
		if _, err := ParseParked(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("ParseParked(%q): expected an error about %q, got %v", c.text, c.want, err)
		}
	}
}

func FuzzParseParked(f *testing.F) {
	f.Add("v=sidestep1 type=A value=203.0.113.10 ttl=60 weight=1")
	f.Add("v=sidestep1 type=CNAME value=a.example.net. ttl=0")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseParked(text)
		if err != nil {
			return
		}
		again, err := ParseParked(p.String())
		if err != nil || again.Value != p.Value || again.TTL != p.TTL || again.Type != p.Type {
			t.Errorf("%q was read as %+v, written and read again as %+v (%v)", text, p, again, err)
		}
	})
}
