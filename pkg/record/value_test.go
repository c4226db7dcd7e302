package record

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseValue(t *testing.T) {
	for _, row := range []struct {
		kind     Type
		in, want string
	}{
		{A, "192.0.2.10", "192.0.2.10"},
		{A, " 192.0.2.10 ", "192.0.2.10"},
		{AAAA, "2001:DB8:0:0::10", "2001:db8::10"},
		{CNAME, "LB.Example.NET", "lb.example.net."},
		{TXT, ` "as it is" `, ` "as it is" `},
	} {
		if got, err := ParseValue(row.kind, row.in); err != nil || got != row.want {
			t.Errorf("ParseValue(%s, %q) = %q, %v; want %q", row.kind, row.in, got, err, row.want)
		}
	}
	for _, row := range []struct {
		kind Type
		in   string
	}{
		{A, "192.0.2.010"}, {A, "2001:db8::1"}, {AAAA, "192.0.2.1"}, {AAAA, "::ffff:192.0.2.10"},
		{A, "0.0.0.0"}, {A, "224.0.0.1"}, {A, "255.255.255.255"}, {A, "169.254.1.1"},
		{AAAA, "::"}, {AAAA, "ff02::1"}, {AAAA, "fe80::1"}, {AAAA, "fe80::1%eth0"}, {A, "www"}, {CNAME, "a..b"},
	} {
		if got, err := ParseValue(row.kind, row.in); err == nil {
			t.Errorf("ParseValue(%s, %q) = %q, want an error", row.kind, row.in, got)
		}
	}
}

func TestInferType(t *testing.T) {
	for in, want := range map[string]Type{"192.0.2.1": A, "2001:db8::1": AAAA, "lb.example.net": CNAME, "lb": CNAME} {
		if got, err := InferType(in); err != nil || got != want {
			t.Errorf("InferType(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"192.0.2.010", "300.1.1.1", "1.2.3", "12345", "fe80::1", "::g", "a b", ""} {
		if got, err := InferType(in); err == nil {
			t.Errorf("InferType(%q) = %q, want an error", in, got)
		}
	}
}

func TestParseType(t *testing.T) {
	if got, err := ParseType("aaaa"); err != nil || got != AAAA {
		t.Errorf("ParseType = %q, %v", got, err)
	}
	if _, err := ParseType("MX"); err == nil {
		t.Error("MX can be steered")
	}
	if !CNAME.Single() || A.Single() {
		t.Error("of the steered types a CNAME alone has one value")
	}
}

func TestSets(t *testing.T) {
	www := Key{Zone: "example.com.", Name: "www.example.com.", Type: A}
	six := Key{Zone: "example.com.", Name: "www.example.com.", Type: AAAA}
	other := Key{Zone: "example.com.", Name: "a.example.com.", Type: A, Variant: "eu"}
	sets := []Set{
		{Key: six},
		{Key: www, Answers: []Answer{{Value: "192.0.2.2", Live: true}, {Value: "192.0.2.1", Live: true, TTL: time.Minute}, {Value: "192.0.2.3", Paused: true}}},
		{Key: other},
	}
	SortSets(sets)
	if sets[0].Key != other || sets[1].Key != www || sets[2].Key != six {
		t.Errorf("sorted as %v, %v, %v", sets[0].Key, sets[1].Key, sets[2].Key)
	}
	set := FindSet(sets, www)
	if got := set.Live(); !slices.Equal(got, []string{"192.0.2.1", "192.0.2.2"}) {
		t.Errorf("live = %v", got)
	}
	if a, found := set.Find("192.0.2.1"); !found || a.TTL != time.Minute {
		t.Errorf("Find = %+v, %v", a, found)
	}
	if _, found := set.Find("192.0.2.9"); found {
		t.Error("found what is not there")
	}
	missing := Key{Zone: "example.com.", Name: "none.example.com.", Type: A}
	if got := FindSet(sets, missing); got.Key != missing || len(got.Answers) != 0 {
		t.Errorf("an absent set is %+v", got)
	}
	if www.String() != "www.example.com. A" || other.String() != "a.example.com. A [eu]" {
		t.Errorf("%s, %s", www, other)
	}
}

func TestActions(t *testing.T) {
	for action, add := range map[Action]bool{Create: true, Resume: true, Pause: false, Swap: false, SetTTL: false, SetWeight: false} {
		if action.Add() != add {
			t.Errorf("%s.Add() = %v", action, !add)
		}
	}
}

// FuzzParseValue reads any text as a value of each type. What is read is canonical: read
// again it is itself.
func FuzzParseValue(f *testing.F) {
	for _, text := range []string{"192.0.2.1", " 192.0.2.010", "::ffff:192.0.2.1", "2001:DB8::1", "fe80::1%eth0", "WWW.Example.com", "1.2.3.256"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range []Type{A, AAAA, CNAME} {
			value, err := ParseValue(kind, text)
			if err != nil {
				continue
			}
			if again, err := ParseValue(kind, value); err != nil || again != value {
				t.Errorf("%s %q is %q, and that %q (%v)", kind, text, value, again, err)
			}
		}
		if kind, err := InferType(text); err == nil {
			if _, err := ParseValue(kind, text); err != nil {
				t.Errorf("%q must be of type %s, and is not: %v", text, kind, err)
			}
		}
	})
}

func TestParseAddressTakesNoPort(t *testing.T) {
	for _, text := range []string{"192.0.2.1:443", "[2001:db8::1]:443"} {
		if _, err := ParseAddress(text); err == nil || !strings.Contains(err.Error(), "no port") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
