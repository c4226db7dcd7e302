package providers

import (
	"os"
	"path/filepath"
	"testing"

	"sidestep/pkg/provider"
)

// TestRegistryNamesEveryAdapter: each adapter's package is in the map, and the
// map names no other.
func TestRegistryNamesEveryAdapter(t *testing.T) {
	docs, err := filepath.Glob("*/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	registry := Registry()
	for _, doc := range docs {
		if _, err := os.Stat(filepath.Join(filepath.Dir(doc), "go.mod")); err == nil {
			continue // a module of its own, for tests
		}
		name := filepath.Base(filepath.Dir(doc))
		if registry[name] == nil {
			t.Errorf("providers/%s is not in the registry", name)
		}
		delete(registry, name)
	}
	for name := range registry {
		t.Errorf("the registry names %q, which has no package", name)
	}
}

// TestConstructors: each makes an adapter without opening anything, and says
// what is missing.
func TestConstructors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none")
	options := map[string]map[string]string{
		"local":   {"file": path},
		"rfc2136": {"server": "127.0.0.1:1"},
	}
	secrets := map[string]map[string]provider.Secret{
		"cloudflare": {"api_token": provider.NewSecret("t")},
		"gandi":      {"api_token": provider.NewSecret("t")},
		"hetzner":    {"api_token": provider.NewSecret("t")},
		"ovh": {
			"application_key": provider.NewSecret("a"), "application_secret": provider.NewSecret("s"), "consumer_key": provider.NewSecret("c"),
		},
		"powerdns":     {"api_key": provider.NewSecret("key")},
		"tencentcloud": {"secret_id": provider.NewSecret("id"), "secret_key": provider.NewSecret("key")},
	}
	for name, construct := range Registry() {
		a, err := construct(provider.Settings{Zone: "example.com.", Options: options[name], Secrets: secrets[name]})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p := a.Promises(); p.Call <= 0 || p.Pause == "" {
			t.Errorf("%s promises %+v", name, p)
		}
		if name == "route53" {
			continue // needs nothing said: it looks for a credential where every AWS program does
		}
		if _, err := construct(provider.Settings{Zone: "example.com."}); provider.ClassOf(err) != provider.Permanent {
			t.Errorf("%s without options: expected a permanent error, got %v", name, err)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a constructor made a file")
	}
}
