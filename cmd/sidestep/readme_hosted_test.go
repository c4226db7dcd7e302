package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sidestep/pkg/provider"
	"sidestep/providers"
)

const hostedHeading = "### At a hosted provider"

// TestREADMEHostedConfig validates the first config with the zones of hosted
// providers instead of its own.
func TestREADMEHostedConfig(t *testing.T) {
	text := readme(t)
	_, records, _ := strings.Cut(between(t, text, "```yaml", "```"), "\nchecks:")
	zones := between(t, text[strings.Index(text, hostedHeading):], "```yaml", "```")
	dir := shortDir(t)
	writeAll(t, dir, map[string]string{
		"sidestep.yaml": strings.Replace(zones, "/etc/sidestep/pdns.key", filepath.Join(dir, "secret"), 1) + "checks:" + records,
		"secret":        "key\n",
	})
	for _, name := range []string{"CLOUDFLARE_API_TOKEN", "TENCENTCLOUD_SECRET_ID", "TENCENTCLOUD_SECRET_KEY"} {
		t.Setenv(name, "secret")
	}
	code, out, errOut := sidestepIn(t, dir, "validate", "--config", "sidestep.yaml")
	if code != 0 || strings.Contains(out, "warning") || errOut != "" {
		t.Errorf("validate exited with %d:\n%s%s", code, out, errOut)
	}
}

// TestREADMERights compares the rights that the README asks for with the calls
// that the adapters make.
func TestREADMERights(t *testing.T) {
	text := readme(t)
	text = text[strings.Index(text, hostedHeading):]
	var policy struct{ Statement []struct{ Action []string } }
	if err := json.Unmarshal([]byte(between(t, text, "```json", "```")), &policy); err != nil {
		t.Fatal(err)
	}
	var rights []string
	for _, s := range policy.Statement {
		for _, action := range s.Action {
			rights = append(rights, strings.TrimPrefix(action, "route53:"))
		}
	}
	action := regexp.MustCompile("`((?:Describe|Create|Modify|Delete)[A-Za-z]+)`")
	for _, row := range []struct {
		provider string
		rights   []string
		call     *regexp.Regexp
	}{
		{"route53", rights, regexp.MustCompile(`\bapi\.([A-Z]\w+)\(ctx, `)},
		{"tencentcloud", firsts(action, text), regexp.MustCompile(`"((?:Describe|Create|Modify|Delete)[A-Za-z]+)"`)},
	} {
		files, err := filepath.Glob(filepath.Join(root, "providers", row.provider, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var calls []string
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(file, "_test.go") {
				calls = append(calls, firsts(row.call, string(source))...)
			}
		}
		slices.Sort(calls)
		slices.Sort(row.rights)
		if calls = slices.Compact(calls); len(calls) == 0 || !slices.Equal(calls, row.rights) {
			t.Errorf("%s calls %v, and the README asks for %v", row.provider, calls, row.rights)
		}
	}
}

// firsts are the first groups of all matches.
func firsts(pattern *regexp.Regexp, text string) (list []string) {
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// TestREADMEPromises holds the table of providers to what their adapters promise,
// and to all of them.
func TestREADMEPromises(t *testing.T) {
	word := map[bool]string{true: "yes", false: "no"}
	pauses := map[string]provider.Pause{
		"the same record, renamed": provider.PauseRename, "a TXT copy": provider.PauseParked,
		"a record whose status is off": provider.PauseNative, "a record that is disabled": provider.PauseNative,
	}
	registry := providers.Registry()
	for line := range strings.Lines(between(t, readme(t), "|---|---|---|---|---|", "\n")) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		for _, name := range firsts(regexp.MustCompile("`([a-z0-9]+)`"), cells[0]) {
			if registry[name] == nil || len(cells) != 5 {
				t.Errorf("not the row of a provider: %s", line)
				continue
			}
			p := promisesOf(t, name, registry[name])
			if p.Pause != pauses[cells[1]] || !slices.Equal(cells[2:], []string{word[p.Atomic], word[p.Fenced], word[!p.Single]}) {
				t.Errorf("%s promises %+v, and the README says %v", name, p, cells)
			}
			delete(registry, name)
		}
	}
	for name := range registry {
		t.Errorf("the table has no row for %s", name)
	}
}

// promisesOf makes an adapter, with whatever settings it needs.
func promisesOf(t *testing.T, name string, construct provider.Constructor) provider.Promises {
	t.Helper()
	settings := provider.Settings{Zone: "example.com.", Secrets: map[string]provider.Secret{}, Options: map[string]map[string]string{
		"local": {"file": filepath.Join(t.TempDir(), "none")}, "rfc2136": {"server": "127.0.0.1:1"},
	}[name]}
	if name != "route53" { // of half a pair it would say that the other is missing
		for _, key := range []string{"api_token", "api_key", "secret_id", "secret_key", "application_key", "application_secret", "consumer_key"} {
			settings.Secrets[key] = provider.NewSecret("secret")
		}
	}
	a, err := construct(settings)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return a.Promises()
}
