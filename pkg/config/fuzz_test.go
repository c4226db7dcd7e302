package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// FuzzParse feeds anything. Parse never panics; what it refuses it refuses with
// errors that have the one form and a place; what it takes survives Show.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/bad/*.yaml", "testdata/good/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add([]byte(small))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("fuzz.yaml", data, wealthy())
		if err == nil {
			checkRoundTrip(t, c, world())
			return
		}
		var all Errors
		if !errors.As(err, &all) || len(all) == 0 {
			t.Fatalf("Parse = %v, want Errors", err)
		}
		checkErrorsForm(t, all)
	})
}

// TestRoundTrip makes configs of every key and takes them through Show.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := drawConfig(rt)
		c, err := Parse("t.yaml", []byte(text), wealthy())
		if err != nil {
			rt.Fatalf("Parse:\n%v\n%s", err, text)
		}
		checkRoundTrip(t, c, world())
		if t.Failed() {
			rt.Fatalf("the config was:\n%s", text)
		}
	})
}

func drawConfig(t *rapid.T) string {
	var out strings.Builder
	pick := func(what string, values ...string) string { return rapid.SampledFrom(values).Draw(t, what) }
	maybe := func(what, format string, values ...string) {
		if rapid.Bool().Draw(t, what+"?") {
			fmt.Fprintf(&out, format, pick(what, values...))
		}
	}
	maybe("adopt", "adopt: %s\n", "ask", "auto")
	maybe("node", "node: {name: %s}\n", "a", "A.b_c-9", "null-", "1e3", "0x1")
	maybe("debounce", "reconcile: {debounce: %s}\n", "0", "1.5", "2m", "1h1m1s")
	maybe("guard", "guard: {max_writes: %s}\n", "0", "{count: 1}", "{window: 90}")
	maybe("canary", "canary: {targets: [%s]}\n", "{tcp: 192.0.2.7}", "{tcp: \"[::1]:1\"}, {http: \"http://192.0.2.8:81/a?b\"}")
	maybe("age", "state: {max_age: %s, dir: \"/a b/#c\"}\n", "0", "36h", "1ms")
	zone := pick("zone", "example.com", "BÜCHER.example.", "a")
	fmt.Fprintf(&out, "zones:\n  - zone: %s\n", zone)
	out.WriteString(pick("provider",
		"    provider: local\n    file: z\n",
		"    provider: local\n    file: z\n    listen: \"[::1]:0\"\n",
		"    provider: rfc2136\n    server: 127.0.0.1\n",
		"    provider: rfc2136\n    server: \"ns.example:5\"\n    tsig: {name: K., algorithm: HMAC-SHA1., secret: env:X}\n",
		"    provider: rfc2136\n    server: 192.0.2.1\n    insecure: true\n"))
	maybe("late", "    late: %s\n", "1", "1h")
	maybe("verify", "    verify: {dns: %s}\n", "true", "false")
	out.WriteString("checks:\n  a:\n")
	out.WriteString(pick("check",
		"    tcp: {port: 1}\n",
		"    tcp: {port: 1, send: \"a\\r\\n\\x01 ~\", expect: \"^\\\\S #\"}\n",
		"    tcp: {port: 1, tls: true, server_name: BÜCHER.example, ca: ca.pem}\n",
		"    http: {url: \"https://x/\", http2: false, cert: client.pem, key: client.key}\n",
		"    http: {url: \"http://[2001:db8::1]:81/a%20b?q=%2f#\"}\n",
		"    http: {url: \"https://EXAMPLE.com.:443\", status: 204, method: HEAD}\n",
		"    http: {url: \"http://x?y\", json: {a: \"~\", b: \"010\", \"<<\": \"=\", \"k: l\": \"x\\ny\"}, body: \"#\\n\"}\n",
		"    http: {url: \"http://x/\", headers: {A: \"*x\", b: \"&y\"}, body_limit: 1025}\n"))
	maybe("interval", "    interval: %s\n", "0.1", "17", "1h")
	maybe("source", "    source: %s\n", "192.0.2.9")
	out.WriteString("records:\n")
	sets := rapid.IntRange(1, 4).Draw(t, "sets")
	for i := range sets {
		fmt.Fprintf(&out, "  - name: %s%d\n    check: [a]\n", pick("name", "w", "_s-", "ä", "X"), i)
		out.WriteString(pick("answers", "    answers: [192.0.2.1]\n", "    answers: [{value: 192.0.2.1, probe: 127.0.0.1}, 192.0.2.2]\n", "    answers: [192.0.2.3, 192.0.2.2, 192.0.2.1]\n    type: A\n"))
		out.WriteString(pick("policy", "", "    policy: all\n", "    policy: priority\n    failback: {mode: manual}\n", "    policy: priority\n    max_live: 2\n    failback: {hold: 0}\n"))
		out.WriteString(pick("down", "", "    fallback: [192.0.2.9]\n", "    on_all_down: none\n", "    on_all_down: open\n"))
		maybe("ttl", "    ttl: %s\n", "1", "60s", "2147483647", "1h")
		maybe("min", "    min_live: %s\n", "0", "1")
		maybe("ask", "    adopt: %s\n", "ask", "auto")
	}
	return out.String()
}

// TestTenThousandAnswers would not end if any rule were worse than linear.
func TestTenThousandAnswers(t *testing.T) {
	var out strings.Builder
	out.WriteString("zones: [{zone: example.com, provider: local, file: /z}]\nchecks: {c: {tcp: {port: 22}}}\nrecords:\n  - name: all\n    check: c\n    answers:\n")
	address := func(i int) string { return fmt.Sprintf("198.%d.%d.%d", 18+i>>16, i>>8&255, i&255) }
	for i := range 10_000 {
		fmt.Fprintf(&out, "      - {value: %s}\n", address(i))
	}
	for i := range 10_000 {
		fmt.Fprintf(&out, "  - {name: n%d, check: c, answers: [%s]}\n", i, address(i))
	}
	for i := range 10_000 {
		fmt.Fprintf(&out, "  - {name: c%d, check: c, policy: priority, answers: [{value: t%d.example.com, probe: 192.0.2.1}]}\n", i, i)
	}
	c := mustParse(t, "t.yaml", out.String(), world())
	if got := len(c.Records); got != 20_001 || len(c.Records[0].Answers) != 10_000 {
		t.Errorf("got %d record sets, %d answers of the first", got, len(c.Records[0].Answers))
	}
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var out bytes.Buffer
			out.WriteString("zones: [{zone: example.com, provider: local, file: /z}]\nchecks: {c: {tcp: {port: 22}}}\nrecords:\n")
			for i := range n {
				fmt.Fprintf(&out, "  - {name: n%d, check: c, answers: [192.0.2.1, 192.0.2.2]}\n", i)
			}
			for b.Loop() {
				if _, err := Parse("b.yaml", out.Bytes(), world()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
