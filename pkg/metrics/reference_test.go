package metrics

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite METRICS.md")

const preamble = `# Metrics

<!-- Made from the table in table.go by go test ./pkg/metrics -update. Edit that. -->

` + "`GET /metrics`" + ` on the daemon's control socket answers in the text format of Prometheus:

    curl --unix-socket /run/sidestep/control.sock http://localhost/metrics

and so does ` + "`control.listen`" + `, 127.0.0.1:9953 where the config has ` + "`control.tokens`" + `: on loopback to everybody on
the machine, elsewhere to a token of the role read, since the names and addresses of the config are in it:

    curl http://127.0.0.1:9953/metrics

Names begin with ` + "`sidestep_`" + ` and times are in seconds. Beside these there are the metrics of every
program in Go (` + "`go_`, `process_`" + `), of which ` + "`process_resident_memory_bytes` and `process_open_fds`" + ` are
worth a look. Alert rules, and how to scrape, are in deploy/prometheus, a board for Grafana in deploy/grafana.

The number of series follows from the config alone. A label is a name of the config (check, address,
zone, name, type, variant, site, provider; receiver is the kind and host of those who are told), the version, or one of the words below. Counters begin at 0 with the
process, with every series that they can have. A series of what a reload removes goes with it.
`

// reference is METRICS.md.
func reference() string {
	var out strings.Builder
	out.WriteString(preamble)
	used := map[string]bool{}
	for _, p := range table {
		fmt.Fprintf(&out, "\n## %s\n\n| metric | type | labels | what it is, and what to do |\n|---|---|---|---|\n", p.title)
		for _, m := range p.metrics {
			var labels []string
			for _, label := range m.labels {
				labels = append(labels, "`"+label+"`")
				used[label] = true
			}
			fmt.Fprintf(&out, "| `%s%s` | %s | %s | %s |\n", prefix, m.name, m.kind, strings.Join(labels, ", "), m.help)
		}
	}
	out.WriteString("\n## Labels that are words\n\n| label | words |\n|---|---|\n")
	for _, label := range slices.Sorted(maps.Keys(words)) {
		if used[label] {
			fmt.Fprintf(&out, "| `%s` | %s |\n", label, strings.Join(words[label], ", "))
		}
	}
	return out.String()
}

func TestReferenceIsUpToDate(t *testing.T) {
	if *update {
		if err := os.WriteFile("METRICS.md", []byte(reference()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != reference() {
		t.Error("METRICS.md is not what the table says: go test ./pkg/metrics -update")
	}
}

func TestTableIsWellFormed(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	free := []string{"version", "go", "check", "address", "site", "zone", "name", "type", "variant", "provider", "receiver"}
	seen := map[string]bool{}
	for _, p := range table {
		for _, m := range p.metrics {
			switch {
			case !name.MatchString(m.name) || seen[m.name]:
				t.Errorf("%s: twice, or not the form of a name", m.name)
			case (m.kind == counter) != strings.HasSuffix(m.name, "_total"):
				t.Errorf("%s: a counter ends with _total, and nothing else does", m.name)
			case !strings.HasSuffix(m.help, ".") || strings.ContainsAny(m.help, "\n|"):
				t.Errorf("%s: its help is no sentence on one line", m.name)
			}
			seen[m.name] = true
			for _, label := range m.labels {
				if !slices.Contains(free, label) && len(words[label]) == 0 {
					t.Errorf("%s: label %s is no name of the config, and has no words", m.name, label)
				}
			}
		}
	}
	for label, list := range words {
		if len(list) > 20 {
			t.Errorf("%s: %d words, more than 20", label, len(list))
		}
	}
	for m := range metered {
		if !seen[m] {
			t.Errorf("%s: metered and not in the table", m)
		}
	}
}
