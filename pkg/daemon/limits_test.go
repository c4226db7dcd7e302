package daemon

import (
	"log/slog"
	"strings"
	"testing"

	"sidestep/pkg/clock"
	"sidestep/pkg/config"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
)

// TestCase68OneBudgetForEachCredential makes the adapters of three zones, of
// which two are of one account: what that account may be asked is one budget,
// and validate tells how large.
func TestCase68OneBudgetForEachCredential(t *testing.T) {
	c := &config.Config{}
	for name, token := range map[record.Name]string{"one.example.": "a", "two.example.": "a", "other.example.": "b"} {
		c.Zones = append(c.Zones, config.Zone{Name: name, Provider: "cloudflare", Settings: provider.Settings{
			Zone: name, Secrets: map[string]provider.Secret{"api_token": provider.NewSecret(token)},
		}})
	}
	got := map[record.Name]*provider.Limiter{}
	registry := provider.Registry{"cloudflare": func(s provider.Settings) (provider.Adapter, error) {
		got[s.Zone] = s.Limiter
		return memory.NewZone(s.Zone, memory.Options{Class: memory.Rename, Now: clock.System().Boot}).Adapter("mon-1"), nil
	}}
	zones, err := Validate(t.Context(), c, registry, false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if got["one.example."] == nil || got["one.example."] != got["two.example."] || got["one.example."] == got["other.example."] {
		t.Errorf("the limiters are %v", got)
	}
	for _, z := range zones {
		if want := "of one credential, at most 3 calls a second, 60 at once after a quiet time, 20 of them kept for writes"; !strings.Contains(z.Words, want) {
			t.Errorf("%s does not say %q", z.Words, want)
		}
	}
}
