package config

import (
	"fmt"
	"strings"
	"testing"

	"sidestep/pkg/record"
)

// oneRecord is a config with one zone and one record set.
func oneRecord(zone, rest string) string {
	return fmt.Sprintf("zones: [{zone: %q, provider: local, file: /z}]\nchecks: {c: {tcp: {port: 22}}}\nrecords:\n  - {check: c, %s}\n", zone, rest)
}

func keyOf(t *testing.T, zone, rest string) (record.Key, string) {
	t.Helper()
	c, err := Parse("t.yaml", []byte(oneRecord(zone, rest)), world())
	if err != nil {
		return record.Key{}, err.Error()
	}
	return c.Records[0].Key, ""
}

func TestCase41LetterCaseAndAddressSpelling(t *testing.T) {
	same := [][2]string{
		{`name: WWW.Example.COM, answers: ["2001:DB8:0:0::10"]`, `name: www.example.com., answers: ["2001:db8::10"]`},
		{`name: www.example.com, policy: priority, answers: [{value: LB.Example.NET, probe: 192.0.2.1}]`,
			`name: WWW.EXAMPLE.COM, policy: priority, answers: [{value: lb.example.net., probe: 192.0.2.1}]`},
		{`name: www.example.com, type: a, answers: [192.0.2.1]`, `name: www.example.com, type: A, answers: [192.0.2.1]`},
	}
	for _, pair := range same {
		a := mustParse(t, "t.yaml", oneRecord("EXAMPLE.com", pair[0]), world()).Records[0]
		b := mustParse(t, "t.yaml", oneRecord("example.com.", pair[1]), world()).Records[0]
		if a.Key != b.Key || a.Answers[0] != b.Answers[0] {
			t.Errorf("%s: %v %v, but %s: %v %v", pair[0], a.Key, a.Answers, pair[1], b.Key, b.Answers)
		}
	}
	for _, value := range []string{"192.0.2.010", "::ffff:192.0.2.10"} {
		if key, err := keyOf(t, "example.com", fmt.Sprintf("name: www, answers: [%q]", value)); !strings.Contains(err, value) {
			t.Errorf("value %s gave %v, %q, want an error that names it", value, key, err)
		}
	}
	twice := oneRecord("example.com", "name: WWW.example.com, answers: [192.0.2.1]") + "  - {name: www.example.com, check: c, answers: [192.0.2.2]}\n"
	_, err := Parse("t.yaml", []byte(twice), world())
	want := "t.yaml:5:12: records[1].name: www.example.com. A is claimed by two record sets, first at t.yaml:4:22; merge their answers into one of them"
	if err == nil || err.Error() != want {
		t.Errorf("Parse = %v, want %s", err, want)
	}
}

func TestCase42UnicodeNames(t *testing.T) {
	for _, test := range []struct{ zone, name, want string }{
		{"bücher.example", "straße.bücher.example", "xn--strae-oqa.xn--bcher-kva.example."},
		{"xn--bcher-kva.example", "ärzte.BÜCHER.example.", "xn--rzte-koa.xn--bcher-kva.example."},
		{"bücher.example", "xn--rzte-koa.xn--bcher-kva.example", "xn--rzte-koa.xn--bcher-kva.example."},
		{"bücher.example", "ärzte", "xn--rzte-koa.xn--bcher-kva.example."},
	} {
		key, err := keyOf(t, test.zone, fmt.Sprintf("name: %s, answers: [192.0.2.1]", test.name))
		if err != "" || string(key.Name) != test.want || key.Zone != "xn--bcher-kva.example." {
			t.Errorf("name %s in zone %s: %v, %q, want %s", test.name, test.zone, key, err, test.want)
		}
	}
	if _, err := keyOf(t, "bücher.example", `name: "a\u200b b.bücher.example", answers: [192.0.2.1]`); err == "" {
		t.Error("a label that is none was accepted")
	}
	both := "zones:\n  - {zone: bücher.example, provider: local, file: /z}\n  - {zone: xn--bcher-kva.example, provider: local, file: /z}\n"
	if _, err := Parse("t.yaml", []byte(both), world()); err == nil || !strings.Contains(err.Error(), "there twice, first at t.yaml:2:12") {
		t.Errorf("one zone in two spellings: %v", err)
	}
}

func TestCase43TrailingDotsAndRelativeNames(t *testing.T) {
	const www, apex = "www.example.com.", "example.com."
	for _, zone := range []string{"example.com", "example.com."} {
		for _, test := range []struct{ fields, want, fault string }{
			{"name: www", www, ""},
			{"name: www.example.com", www, ""},
			{"name: www.example.com.", www, ""},
			{"name: www, zone: example.com", www, ""},
			{"name: www.example.com, zone: example.com.", www, ""},
			{`name: "@"`, apex, ""},
			{`name: ""`, apex, ""},
			{"name: example.com.", apex, ""},
			{"name: example.com, zone: example.com", apex, ""},
			{"name: a.b.example.com", "a.b.example.com.", ""},
			{"name: www.example.com.example.com", "www.example.com.example.com.", ""},
			{"name: notexample.com", "", "in none of the zones"},
			{"name: notexample.com, zone: example.com", "", "not inside the zone"},
			{"name: a.b, zone: example.com", "", "not inside the zone"},
			{"name: www., zone: example.com", "", "not inside the zone"},
			{"name: www.", "", "in none of the zones"},
		} {
			key, err := keyOf(t, zone, test.fields+", answers: [192.0.2.1]")
			if string(key.Name) != test.want || test.fault == "" && err != "" || !strings.Contains(err, test.fault) {
				t.Errorf("zone %s, %s: got %q, %q, want %q, %q", zone, test.fields, key.Name, err, test.want, test.fault)
			}
		}
	}
	for _, target := range []string{"lb.example.net", "lb.example.net.", "LB.example.net"} {
		c := mustParse(t, "t.yaml", oneRecord("example.com", fmt.Sprintf("name: www, policy: priority, answers: [{value: %s, probe: 192.0.2.1}]", target)), world())
		if got := c.Records[0].Answers[0].Value; got != "lb.example.net." {
			t.Errorf("target %s became %s", target, got)
		}
	}
}

func TestTheLongestZoneHoldsAName(t *testing.T) {
	const zones = `
zones:
  - {zone: example.com, provider: local, file: /z}
  - {zone: b.example.com, provider: local, file: /z}
checks: {c: {tcp: {port: 22}}}
records:
  - {check: c, answers: [192.0.2.1], name: %s}
`
	for name, want := range map[string]record.Name{
		"www.example.com":                           "example.com.",
		"www.a.example.com":                         "example.com.",
		"b.example.com":                             "b.example.com.",
		"www.b.example.com":                         "b.example.com.",
		"wwwb.example.com":                          "example.com.",
		"www.b.example.com, zone: EXAMPLE.com":      "example.com.",
		"\"@\", zone: b.example.com":                "b.example.com.",
		"\"*.b.example.com\"":                       "b.example.com.",
		"_sip._tcp.b.example.com":                   "b.example.com.",
		"www.b.example.com.example.com":             "example.com.",
		"www.b.example.com.b.example.com":           "b.example.com.",
		"example.com.b.example.com":                 "b.example.com.",
		"a.very.deep.name.below.that.b.example.com": "b.example.com.",
	} {
		c := mustParse(t, "t.yaml", fmt.Sprintf(zones, name), world())
		if got := c.Records[0].Key.Zone; got != want {
			t.Errorf("name %s: zone %s, want %s", name, got, want)
		}
	}
}

func TestCase15ACheckMayAskForTheSteeredName(t *testing.T) {
	c := mustParse(t, "t.yaml", small, world())
	if host := c.Checks["web"].HTTP.Host; host+"." != string(c.Records[0].Key.Name) {
		t.Errorf("the check asks for %s, the record set is %s: this test shows nothing", host, c.Records[0].Key.Name)
	}
}

func TestCase94NoSecretIsShown(t *testing.T) {
	c := mustParse(t, "full.yaml", read(t, "testdata/good/full.yaml"), wealthy())
	if got := c.Zones[0].Settings.Secrets["tsig.secret"].Reveal(); got != "MARKER-TSIG" {
		t.Fatalf("the secret is %q: this test shows nothing", got)
	}
	for what, text := range map[string]string{
		"Show":     string(c.Show()),
		"zones":    fmt.Sprintf("%v %+v %#v", c.Zones, c.Zones, c.Zones),
		"warnings": fmt.Sprint(c.Warnings),
	} {
		if strings.Contains(text, "MARKER") {
			t.Errorf("%s shows a secret:\n%s", what, text)
		}
	}
}

// TestCase45AliasAndAddresses: an alias stands neither at the apex, nor beside
// addresses of the name, nor as the fallback of addresses.
func TestCase45AliasAndAddresses(t *testing.T) {
	for fields, fault := range map[string]string{
		"name: www, answers: [192.0.2.10], fallback: [sorry.example.net]":                                  "a name answers with addresses or with one name, not with both",
		`name: "@", policy: priority, answers: [{value: sorry.example.net, probe: 192.0.2.1}]`:             "a CNAME cannot stand at the apex",
		"name: www, policy: priority, answers: [{value: sorry.example.net, probe: 192.0.2.1}, 192.0.2.10]": "a name answers with addresses or with one name, not with both",
	} {
		if key, err := keyOf(t, "example.com", fields); !strings.Contains(err, fault) {
			t.Errorf("%s: %v, %q, want an error that says %q", fields, key, err, fault)
		}
	}
	beside := oneRecord("example.com", "name: www, answers: [192.0.2.10]") +
		"  - {name: www, check: c, policy: priority, answers: [{value: sorry.example.net, probe: 192.0.2.1}]}\n"
	if _, err := Parse("t.yaml", []byte(beside), world()); err == nil || !strings.Contains(err.Error(), "a CNAME cannot stand beside the A record set") {
		t.Errorf("beside addresses: %v", err)
	}
}
