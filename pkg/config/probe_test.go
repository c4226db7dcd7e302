package config

import (
	"fmt"
	"testing"
)

// The defaults of a check are part of the contract: an upgrade that changes one
// shows here, and in what `config show` prints.
//
// Case: one tool accepts exactly 200, another any 2xx, a third everything below
// 500, and upgrades that changed the default turned login redirects red over
// night. Expected: the default is 2xx, written down, and a golden file has it.
func TestCase11TheDefaultsOfChecksAreShown(t *testing.T) {
	const text = `
zones: [{zone: example.com, provider: local, file: /z}]
checks:
  plain: {http: {url: "http://www.example.com/"}}
  secure: {http: {url: "https://www.example.com/"}}
  port: {tcp: {port: 22}}
records: [{name: www.example.com, check: [plain, secure, port], answers: [192.0.2.1]}]
`
	golden(t, "testdata/defaults.want", string(mustParse(t, "t.yaml", text, world()).Show()))
}

// Case: a check leaves from 2001:db8::5 and its target is an A record's
// address. Expected: the loader refuses it, and says which of the two to change.
func TestCase20SourceOfAnotherFamilyIsRefused(t *testing.T) {
	const text = `zones: [{zone: example.com, provider: local, file: /z}]
checks:
  four: {tcp: {port: 22}, source: 203.0.113.5}
  six: {tcp: {port: 22}, source: "2001:db8::5"}
  any: {tcp: {port: 22}}
records: [{name: www.example.com, check: [%s], answers: [%s]}]
`
	for _, test := range []struct{ checks, answers, want string }{
		{"four", "192.0.2.1, 192.0.2.2", ""},
		{"six", `"2001:db8::1"`, ""},
		{"any", `"2001:db8::1"`, ""},
		{"six", "192.0.2.1, 192.0.2.2", "t.yaml:6:43: records[0].check[0]: the check six leaves from 2001:db8::5, which cannot reach 192.0.2.1 of the other family; make one check for IPv4 and one for IPv6"},
		{"any, four", `"2001:db8::1"`, "t.yaml:6:48: records[0].check[1]: the check four leaves from 203.0.113.5, which cannot reach 2001:db8::1 of the other family; make one check for IPv4 and one for IPv6"},
		{"four", `192.0.2.1, {value: 192.0.2.2, probe: "2001:db8::2"}`, "t.yaml:6:43: records[0].check[0]: the check four leaves from 203.0.113.5, which cannot reach 2001:db8::2 of the other family; make one check for IPv4 and one for IPv6"},
		{"six", `{value: 192.0.2.2, probe: "2001:db8::2"}`, ""},
	} {
		_, err := Parse("t.yaml", fmt.Appendf(nil, text, test.checks, test.answers), world())
		if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
			t.Errorf("checks %s, answers %s: got %v, want %q", test.checks, test.answers, err, test.want)
		}
	}
}
