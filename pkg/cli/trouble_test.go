package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sidestep/pkg/control"
	"sidestep/pkg/provider"
)

// refused is a zone that nobody may list.
type refused struct{ provider.Adapter }

func (refused) Promises() provider.Promises { return provider.Promises{} }

func (refused) List(context.Context) (*provider.Snapshot, error) {
	failed := provider.Failf(provider.Permanent, "list zone example.com.", "9109", "not allowed")
	failed.Hint = "see the token" + thenValidate
	return nil, failed
}

// TestStatusNeedsNoSecret: where no daemon runs, that is said, and not that a
// secret of the daemon's is not in this shell.
func TestStatusNeedsNoSecret(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "sidestep.yaml")
	config := "control: {socket: c.sock}\n" + `zones: [{zone: example.com, provider: cloudflare, api_token: "env:TOKEN"}]
checks: {web: {tcp: {port: 443}}}
records: [{name: www.example.com, check: web, answers: [192.0.2.1, 192.0.2.2]}]
`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	stdio := IO{In: strings.NewReader(""), Out: &out, Err: &out, Getenv: func(string) string { return "" }}
	if code := run(t.Context(), []string{"status", "--config", file}, stdio, provider.Registry{}, Build{}); code != control.ExitFailure || !strings.Contains(out.String(), "no daemon listens") {
		t.Errorf("expected exit code 1 and no daemon, got %d\n%s", code, out.String())
	}
}

// TestNoAdviceToDoTheSame: validate --online does not advise itself, and import
// does not advise what needs a config.
func TestNoAdviceToDoTheSame(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sidestep.yaml")
	config := `zones: [{zone: example.com, provider: cloudflare, api_token: "env:TOKEN"}]
checks: {web: {tcp: {port: 443}}}
records: [{name: www.example.com, check: web, answers: [192.0.2.1, 192.0.2.2]}]
`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	registry := provider.Registry{"cloudflare": func(provider.Settings) (provider.Adapter, error) { return refused{}, nil }}
	for _, line := range []string{
		"validate --online --config " + file,
		"validate --online --json --config " + file,
		"import --provider cloudflare --zone example.com --set api_token=env:TOKEN",
	} {
		var out bytes.Buffer
		stdio := IO{In: strings.NewReader(""), Out: &out, Err: &out, Getenv: func(name string) string { return map[string]string{"TOKEN": "t"}[name] }}
		if code := run(t.Context(), strings.Fields(line), stdio, registry, Build{}); code != control.ExitProvider {
			t.Errorf("%s: expected exit code 5, got %d", line, code)
		}
		if text := out.String(); !strings.Contains(text, "not allowed; see the token") || strings.Contains(text, thenValidate) {
			t.Errorf("%s: expected the advice without this command, got\n%s", line, text)
		}
	}
}
