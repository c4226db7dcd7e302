package resolve_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"go.uber.org/goleak"

	"sidestep/pkg/resolve"
	"sidestep/pkg/resolve/resolvetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a lookup that must end well may take.
const patience = 30 * time.Second

// unhurried looks a name up where a resolver is silent, with a short time at
// first. A machine that stood still may have spent what was left for the others:
// as long as the outcome is not as it should be, it gets twice the time.
func unhurried(t *testing.T, servers []netip.AddrPort, good func(resolve.Answer, error) bool) (answer resolve.Answer, err error) {
	t.Helper()
	for timeout := time.Second; ; timeout *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		answer, err = resolve.Lookup(ctx, resolve.Options{Servers: servers}, "v4.example.com.", resolve.Both)
		late := ctx.Err() != nil
		cancel()
		if good(answer, err) || !late || timeout > patience {
			return answer, err
		}
	}
}

var records = []string{
	"app1.example.com. 60 A 192.0.2.20",
	"app1.example.com. 60 A 192.0.2.10",
	"app1.example.com. 60 AAAA 2001:db8::10",
	"v4.example.com. 60 A 192.0.2.10",
	"text.example.com. 60 TXT \"no address\"",
	"www.example.com. 60 CNAME edge.example.net.",
	"edge.example.net. 60 CNAME app1.example.com.",
	"gone.example.com. 60 CNAME nowhere.example.com.",
	"empty.example.com. 60 CNAME text.example.com.",
}

func lookup(t *testing.T, s *resolvetest.Server, name string, family resolve.Family) (resolve.Answer, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return resolve.Lookup(ctx, resolve.Options{Servers: []netip.AddrPort{s.Addr}}, name, family)
}

// words writes what a lookup gave on one line.
func words(a resolve.Answer, err error) string {
	var negative *resolve.NoAddressError
	switch {
	case errors.As(err, &negative):
		return fmt.Sprintf("%v: %v", a.Names, negative)
	case err != nil:
		return fmt.Sprintf("%v: cannot tell", a.Names)
	case a.Partial != nil:
		return fmt.Sprintf("%v: %v and perhaps more", a.Names, a.Addresses)
	}
	return fmt.Sprintf("%v: %v", a.Names, a.Addresses)
}

func TestLookup(t *testing.T) {
	s := resolvetest.Start(t, records...)
	for _, c := range []struct {
		name   string
		family resolve.Family
		want   string
	}{
		{"app1.example.com", resolve.Both, "[app1.example.com.]: [192.0.2.10 192.0.2.20 2001:db8::10]"},
		{"APP1.Example.COM.", resolve.IPv4, "[app1.example.com.]: [192.0.2.10 192.0.2.20]"},
		{"app1.example.com.", resolve.IPv6, "[app1.example.com.]: [2001:db8::10]"},
		{"v4.example.com.", resolve.Both, "[v4.example.com.]: [192.0.2.10]"},
		{"v4.example.com.", resolve.IPv6, "[v4.example.com.]: v4.example.com. exists but has no address"},
		{"www.example.com.", resolve.Both, "[www.example.com. edge.example.net. app1.example.com.]: [192.0.2.10 192.0.2.20 2001:db8::10]"},
		{"nowhere.example.com.", resolve.Both, "[nowhere.example.com.]: nowhere.example.com. does not exist (NXDOMAIN)"},
		{"text.example.com.", resolve.Both, "[text.example.com.]: text.example.com. exists but has no address"},
		{"gone.example.com.", resolve.Both, "[gone.example.com. nowhere.example.com.]: nowhere.example.com. does not exist (NXDOMAIN)"},
		{"empty.example.com.", resolve.Both, "[empty.example.com. text.example.com.]: text.example.com. exists but has no address"},
	} {
		if got := words(lookup(t, s, c.name, c.family)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// What a resolver does not know says nothing of the name, and what was forged
// or cut is not believed.
func TestLookupAtBadResolvers(t *testing.T) {
	const whole = "[v4.example.com.]: [192.0.2.10]"
	for fault, want := range map[resolvetest.Fault]string{
		resolvetest.ServFail: "cannot tell",
		resolvetest.Refused:  "cannot tell",
		resolvetest.Lame:     "cannot tell",
		resolvetest.Circle:   "cannot tell",
		resolvetest.Endless:  "cannot tell",
		resolvetest.NotThere: "v4.example.com. does not exist (NXDOMAIN)",
		resolvetest.Cut:      whole,
		resolvetest.Forged:   whole,
		resolvetest.Garbage:  whole,
	} {
		s := resolvetest.Start(t, records...)
		s.Fail(fault)
		if got := words(lookup(t, s, "v4.example.com.", resolve.Both)); !strings.HasSuffix(got, want) {
			t.Errorf("%s: got %s, want %s", fault, got, want)
		}
		s.Fail(resolvetest.Healthy)
		if got := words(lookup(t, s, "v4.example.com.", resolve.Both)); got != whole {
			t.Errorf("%s: afterwards got %s, want %s: nothing is kept", fault, got, whole)
		}
	}
}

// A forwarder that does not follow an alias knows nothing of what it stands for.
func TestLookupOfAnAliasAlone(t *testing.T) {
	s := resolvetest.Start(t, records...)
	s.Fail(resolvetest.Dangling)
	if got := words(lookup(t, s, "www.example.com.", resolve.Both)); got != "[www.example.com.]: cannot tell" {
		t.Errorf("got %s", got)
	}
}

// One type without an answer leaves the view partial: addresses of the other
// are good, and their absence proves nothing.
func TestLookupWithHalfAView(t *testing.T) {
	s := resolvetest.Start(t, records...)
	for _, c := range []struct {
		fail uint16
		name string
		want string
	}{
		{dns.TypeAAAA, "app1.example.com.", "[app1.example.com.]: [192.0.2.10 192.0.2.20] and perhaps more"},
		{dns.TypeA, "app1.example.com.", "[app1.example.com.]: [2001:db8::10] and perhaps more"},
		{dns.TypeA, "v4.example.com.", "[v4.example.com.]: cannot tell"},
		{dns.TypeAAAA, "text.example.com.", "[text.example.com.]: cannot tell"},
		{dns.TypeA, "nowhere.example.com.", "[nowhere.example.com.]: cannot tell"},
	} {
		s.Fail(resolvetest.Healthy)
		s.FailType(c.fail, resolvetest.ServFail)
		a, err := lookup(t, s, c.name, resolve.Both)
		if got := words(a, err); got != c.want {
			t.Errorf("%s with %s failing: got %s, want %s", c.name, dns.TypeToString[c.fail], got, c.want)
		}
		for _, why := range []error{a.Partial, err} {
			if why != nil && !strings.Contains(why.Error(), dns.TypeToString[c.fail]+": resolver "+s.Addr.String()+": answered SERVFAIL") {
				t.Errorf("%s: %q names neither type nor resolver", c.name, why)
			}
		}
	}
}

// The second resolver is asked when the first fails, is silent or is not there;
// an answer of the first stands, also one that says no.
func TestLookupAsksTheNext(t *testing.T) {
	first, second := resolvetest.Start(t), resolvetest.Start(t, records...)
	dead := netip.MustParseAddrPort("127.0.0.1:1")
	ask := func(servers ...netip.AddrPort) string { // a silent one may have half of the time
		return words(unhurried(t, servers, func(_ resolve.Answer, err error) bool { return err == nil }))
	}
	const whole = "[v4.example.com.]: [192.0.2.10]"
	for _, fault := range []resolvetest.Fault{resolvetest.ServFail, resolvetest.Refused, resolvetest.Silent, resolvetest.Lame} {
		first.Fail(fault)
		if got := ask(first.Addr, second.Addr); got != whole {
			t.Errorf("first %s: got %s, want %s", fault, got, whole)
		}
	}
	if got := ask(dead, second.Addr); got != whole {
		t.Errorf("first dead: got %s, want %s", got, whole)
	}
	first.Fail(resolvetest.NotThere)
	if got := ask(first.Addr, second.Addr); !strings.HasSuffix(got, "(NXDOMAIN)") {
		t.Errorf("first says no: got %s", got)
	}
}

// Errors name every resolver and what it did, briefly.
func TestLookupErrors(t *testing.T) {
	silent := resolvetest.Start(t)
	silent.Fail(resolvetest.Silent)
	dead := netip.MustParseAddrPort("127.0.0.1:1")
	want := "ask for v4.example.com. A: resolver 127.0.0.1:1: connection refused, resolver " + silent.Addr.String() + ": no answer in time"
	says := func(_ resolve.Answer, err error) bool { return err != nil && err.Error() == want }
	_, err := unhurried(t, []netip.AddrPort{dead, silent.Addr}, says)
	if !says(resolve.Answer{}, err) {
		t.Errorf("got %v, want %s", err, want)
	}
	half, err := net.ListenPacket("udp4", "127.0.0.1:0") // takes questions, and nobody listens at its TCP port
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = half.Close() }()
	says = func(_ resolve.Answer, err error) bool {
		return err != nil && strings.Contains(err.Error(), ": udp: no answer in time, ") && strings.HasSuffix(err.Error(), "tcp: connection refused")
	}
	_, err = unhurried(t, []netip.AddrPort{half.LocalAddr().(*net.UDPAddr).AddrPort()}, says)
	if !says(resolve.Answer{}, err) {
		t.Errorf("silent over UDP alone: %v", err)
	}
	for _, name := range []string{"", "a..example.com", strings.Repeat("a", 64) + ".example.com"} {
		if _, err := resolve.Lookup(t.Context(), resolve.Options{Servers: []netip.AddrPort{dead}}, name, resolve.Both); err == nil || !strings.Contains(err.Error(), "expected a domain name") {
			t.Errorf("%q: got %v", name, err)
		}
	}
}

// The file is read at each lookup: a change holds at once, and a file without a
// resolver is an error that names it.
func TestLookupReadsTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "resolv.conf")
	ask := func() string {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := resolve.Lookup(ctx, resolve.Options{File: path}, "app1.example.com.", resolve.IPv4)
		return fmt.Sprint(err)
	}
	if got := ask(); !strings.Contains(got, "no such file") || !strings.Contains(got, path) {
		t.Errorf("without the file: %s", got)
	}
	// Nobody listens on port 53 of these addresses of loopback.
	for text, want := range map[string][]string{
		"search example.com\n":                                  {path + " names no resolver"},
		"nameserver not-an-address\n":                           {path + " names no resolver"},
		"nameserver 127.9.9.1\n":                                {"127.9.9.1:53"},
		"# x\nnameserver 127.9.9.2\noptions timeout:9 rotate\n": {"127.9.9.2:53"},
		"nameserver 127.9.9.1\nnameserver 127.9.9.2\nnameserver 127.9.9.3\nnameserver 127.9.9.4\n": {"127.9.9.1:53", "127.9.9.2:53", "127.9.9.3:53"},
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := ask()
		if slices.ContainsFunc(want, func(part string) bool { return !strings.Contains(got, part) }) || strings.Contains(got, "127.9.9.4") {
			t.Errorf("%q: got %s, want %q", text, got, want)
		}
	}
}
