package daemon

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"sidestep/pkg/config"
	"sidestep/pkg/observe"
	"sidestep/pkg/provider"
	"sidestep/pkg/resolve"
	"sidestep/pkg/resolve/resolvetest"
)

// selfServed is an adapter that serves its zone; knownPrimary one that knows a server.
type (
	selfServed struct {
		provider.Adapter
		provider.Server
	}
	knownPrimary struct {
		provider.Adapter

		server string
	}
)

func (p knownPrimary) Servers() []string { return []string{p.server} }

// The NS records of a zone are followed only where they lead to the servers of
// this very zone.
func TestWhoseNameServersAreLookedFor(t *testing.T) {
	const public = "records: [{name: www.example.com, ttl: 60s, check: web, answers: [203.0.113.10, 203.0.113.20]}]"
	const lab = "records: [{name: www.example.com, ttl: 60s, check: web, answers: [127.0.0.10, 203.0.113.20]}]"
	hosted := struct{ provider.Adapter }{}
	for name, row := range map[string]struct {
		adapter provider.Adapter
		zone    string
		records string
		want    bool
	}{
		"hosted":                      {hosted, "", public, true},
		"hosted, in a lab":            {hosted, "", lab, false},
		"hosted by a fake":            {hosted, `, endpoint: "http://127.0.0.1:8080"`, public, false},
		"hosted elsewhere":            {hosted, `, endpoint: "https://api.example.net"`, public, true},
		"a primary":                   {knownPrimary{server: "192.0.2.53:53"}, "", public, true},
		"a primary at another port":   {knownPrimary{server: "192.0.2.53:5353"}, "", public, false},
		"a primary on loopback":       {knownPrimary{server: "127.0.0.1:53"}, "", public, false},
		"a primary on IPv6":           {knownPrimary{server: "[2001:db8::53]:53"}, "", public, true},
		"a primary on IPv6 loopback":  {knownPrimary{server: "[::1]:53"}, "", public, false},
		"a zone that sidestep serves": {selfServed{}, "", public, false},
	} {
		text := "zones: [{zone: example.com, provider: route53" + row.zone + "}]\nchecks: {web: {http: {url: \"https://www.example.com/\"}}}\n" + row.records + "\n"
		c, err := config.Parse("config.yaml", []byte(text), config.Options{SkipSecrets: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := hasWorld(c, &c.Zones[0], row.adapter); got != row.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// Name servers are found by name and with all their addresses, and an error says
// why there are none.
func TestNameServersAreFound(t *testing.T) {
	server := resolvetest.Start(t, "example.com. 60 NS ns1.example.net.", "example.com. 60 NS ns2.example.net.",
		"ns1.example.net. 60 A 192.0.2.53", "ns1.example.net. 60 AAAA 2001:db8::53", "ns2.example.net. 60 A 192.0.2.54")
	d := &Daemon{options: Options{Resolver: resolve.Options{Servers: []netip.AddrPort{server.Addr}}}}
	found, err := d.findServers(t.Context(), "example.com.")
	if got := fmt.Sprint(found); err != nil || got != "[ns1.example.net 192.0.2.53 ns1.example.net [2001:db8::53] ns2.example.net 192.0.2.54]" {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := d.findServers(t.Context(), "example.org."); err == nil || !strings.Contains(err.Error(), "example.org") {
		t.Errorf("got %v", err)
	}
}

// That this machine has no way to a server is no word about the server; that it
// refuses is.
func TestNoWay(t *testing.T) {
	failed := func(errno syscall.Errno) error {
		return &observe.NoAnswerError{UDP: &net.OpError{Op: "dial", Err: errno}, TCP: &net.OpError{Op: "dial", Err: errno}}
	}
	for errno, want := range map[syscall.Errno]bool{
		syscall.ENETUNREACH: true, syscall.EAFNOSUPPORT: true, syscall.EADDRNOTAVAIL: true,
		syscall.ECONNREFUSED: false, syscall.EHOSTUNREACH: false,
	} {
		if got := noWay(failed(errno)); got != want {
			t.Errorf("%v: got %v", errno, got)
		}
	}
	if noWay(nil) {
		t.Error("an answer is a way")
	}
}
