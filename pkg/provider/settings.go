package provider

import (
	"fmt"
	"log/slog"
	"time"

	"sidestep/pkg/record"
)

// Secret is a text that prints as three asterisks wherever it is printed by
// accident: fmt, JSON, YAML, slog and zerolog alike. Reveal is the only way to
// its content and easy to grep for.
type Secret struct{ content *string }

// NewSecret wraps a text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal gives the content, for the wire and for nothing else.
func (s Secret) Reveal() string {
	if s.content == nil {
		return ""
	}
	return *s.content
}

// Empty reports whether there is nothing to reveal.
func (s Secret) Empty() bool { return s.content == nil || *s.content == "" }

const masked = "***"

// String hides the content.
func (s Secret) String() string { return masked }

// Format hides the content from every verb, %#v included.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(masked)) }

// MarshalText hides the content from JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }

// LogValue hides the content from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(masked) }

// Settings is what a constructor gets of one zone of the config. Keys are
// spelled as in the config, a nested one with a dot ("tsig.name").
type Settings struct {
	Zone     record.Name
	Options  map[string]string
	Secrets  map[string]Secret
	Variants []string      // how the config spells the variants that it names, where a variant has a name and an id; each once, sorted
	Insecure bool          // the operator's word that a plain connection is meant
	Late     time.Duration // overrides the adapter's own bound; 0 keeps it
	Lag      time.Duration // likewise
	Limiter  *Limiter      // shared by all zones of one credential; nil limits nothing
	Logger   *slog.Logger
	Client   string // who writes: "sidestep/VERSION"
}

// Constructor makes the adapter of one zone. It opens no connection: what can
// only be seen online is found by List.
type Constructor func(Settings) (Adapter, error)

// Registry maps a provider's name in the config to its constructor.
type Registry map[string]Constructor
