package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"sidestep/pkg/cli"
	"sidestep/pkg/lab"
	"sidestep/pkg/provider/providertest"
	"sidestep/providers"
	"sidestep/providers/cloudflare/cloudflaretest"
	"sidestep/providers/gandi/ganditest"
	"sidestep/providers/hetzner/hetznertest"
	"sidestep/providers/ovh/ovhtest"
	"sidestep/providers/powerdns/powerdnstest"
	"sidestep/providers/rfc2136/rfc2136test"
	"sidestep/providers/route53/route53test"
	"sidestep/providers/tencentcloud/tencentcloudtest"
)

// somewhere is a zone example.com at one provider, filled as its operator has it.
type somewhere struct {
	keys string          // of the zone in a config, a line each
	dump func() []string // every record with what the provider keeps of it, sorted
}

// places start the zone at every provider, with these records in it.
var places = map[string]func(*testing.T, []providertest.RR) somewhere{
	"local":   atLocal,
	"rfc2136": atBIND,
	"powerdns": func(t *testing.T, rrs []providertest.RR) somewhere {
		f := powerdnstest.Start(t, powerdnstest.Options{Text: powerdnstest.Empty + masterFile(rrs)})
		return somewhere{f.Keys(), f.Attributes}
	},
	"cloudflare": func(t *testing.T, rrs []providertest.RR) somewhere {
		f := cloudflaretest.Start(t, cloudflaretest.Options{})
		return somewhere{f.Keys(), f.Attributes}.filled(f.Hand(t, nil), rrs)
	},
	"route53": func(t *testing.T, rrs []providertest.RR) somewhere {
		f := route53test.Start(t, route53test.Options{})
		return somewhere{f.Keys(), f.Attributes}.filled(f.Hand(nil), rrs)
	},
	"tencentcloud": func(t *testing.T, rrs []providertest.RR) somewhere {
		f := tencentcloudtest.Start(t, tencentcloudtest.Options{})
		return somewhere{f.Keys(), f.Attributes}.filled(f.Hand(t, nil), rrs)
	},
	"hetzner": func(t *testing.T, rrs []providertest.RR) somewhere {
		f := hetznertest.Start(t, "example.com.")
		hand := f.Hand(nil)
		return somewhere{"provider: hetzner\napi_token: " + hetznertest.Token + "\n", dumped(hand)}.filled(hand, rrs)
	},
	"gandi": func(t *testing.T, rrs []providertest.RR) somewhere {
		f := ganditest.Start(t, "example.com.")
		hand := f.Hand(nil)
		return somewhere{"provider: gandi\napi_token: " + ganditest.Token + "\n", dumped(hand)}.filled(hand, rrs)
	},
	"ovh": func(t *testing.T, rrs []providertest.RR) somewhere {
		f := ovhtest.Start(t, "example.com.")
		hand := f.Hand(nil)
		keys := fmt.Sprintf("provider: ovh\nendpoint: %s\napplication_key: %s\napplication_secret: %s\nconsumer_key: %s\n",
			f.Endpoint(), ovhtest.ApplicationKey, ovhtest.ApplicationSecret, ovhtest.ConsumerKey)
		return somewhere{keys, dumped(hand)}.filled(hand, rrs)
	},
}

// filled puts the records in by the operator's hand.
func (s somewhere) filled(hand providertest.Hand, rrs []providertest.RR) somewhere {
	for _, rr := range rrs {
		hand.Put(rr)
	}
	if lags, ok := hand.(providertest.Settler); ok {
		lags.Settle()
	}
	return s
}

// dumped is the dump of a provider that keeps nothing but records.
func dumped(hand providertest.Hand) func() []string {
	return func() []string {
		var lines []string
		for _, rr := range hand.Dump() {
			lines = append(lines, rr.String())
		}
		return lines
	}
}

func masterFile(rrs []providertest.RR) string {
	var text strings.Builder
	for _, rr := range rrs {
		text.WriteString(rr.String() + "\n")
	}
	return text.String()
}

func atLocal(t *testing.T, rrs []providertest.RR) somewhere {
	path := filepath.Join(shortDir(t), "example.com.zone")
	if err := os.WriteFile(path, []byte(powerdnstest.Empty+masterFile(rrs)), 0o600); err != nil {
		t.Fatal(err)
	}
	return somewhere{"provider: local\nfile: " + path + "\nlisten: \"\"\n", func() []string {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		var lines []string
		parser := dns.NewZoneParser(file, "example.com.", path)
		for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
			lines = append(lines, rr.String())
		}
		return lines
	}}
}

func atBIND(t *testing.T, rrs []providertest.RR) somewhere {
	s := rfc2136test.StartBIND(t, rfc2136test.Zone{Name: "example.com.", Text: powerdnstest.Empty + masterFile(rrs)})
	keys := fmt.Sprintf("provider: rfc2136\nserver: %s\ntsig: {name: %s, algorithm: %s, secret: %s}\n", s.Addr, s.Key.Name, strings.TrimSuffix(s.Key.Algorithm, "."), s.Key.Secret)
	return somewhere{keys, func() []string { return s.Dig("+noall", "+answer", "example.com.", "AXFR") }}
}

// zone is what the place has, without what its server keeps by itself.
func (s somewhere) zone() []string {
	lines := slices.DeleteFunc(s.dump(), func(line string) bool {
		return strings.Contains(line, "SOA") || strings.Contains(line, "TSIG")
	})
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// office is where the operator of a zone sits: a directory, two web servers that
// its names lead to, and the environment.
type office struct {
	t        *testing.T
	dir      string
	backends []*lab.Backend
	env      map[string]string
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t: t, dir: shortDir(t), env: map[string]string{}}
	list, err := startLab(2)
	if err != nil {
		t.Fatal(err)
	}
	o.backends = list
	for _, b := range list {
		t.Cleanup(func() { _ = b.Close() })
	}
	return o
}

func (o *office) port() string {
	_, port, _ := net.SplitHostPort(o.backends[0].Addr())
	return port
}

// config is the head of a config for the place, with bounds that no test has to
// wait for.
func (o *office) config(s somewhere) string {
	text := fmt.Sprintf("node: {name: mon-1}\nstate: {dir: %s}\ncontrol: {socket: %s}\nzones:\n  - zone: example.com\n",
		filepath.Join(o.dir, "state"), filepath.Join(o.dir, "c.sock"))
	for line := range strings.Lines(s.keys + "late: 1s\nlag: 1s\nverify: {dns: false}\n") {
		text += "    " + line
	}
	return text
}

func (o *office) file(name, text string) string {
	o.t.Helper()
	path := filepath.Join(o.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
	return path
}

// sidestep runs a command line within this process, where the fakes are that
// stand in for a vendor's fixed address, and returns what it said.
func (o *office) sidestep(want int, args ...string) string {
	o.t.Helper()
	var out, errOut bytes.Buffer
	code := cli.Main(args, cli.IO{
		In: strings.NewReader(""), Out: &out, Err: &errOut, Program: "sidestep", Getenv: func(name string) string { return o.env[name] },
	}, providers.Registry(), cli.Build{Version: "test"})
	if code != want {
		o.t.Fatalf("sidestep %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, out.String(), errOut.String())
	}
	return out.String() + errOut.String()
}
