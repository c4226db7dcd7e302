package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestCase94SecretIsNeverPrinted tries every way in which a text gets out by
// accident.
func TestCase94SecretIsNeverPrinted(t *testing.T) {
	const content = "hunter2"
	secret := NewSecret(content)
	settings := Settings{Zone: "example.com.", Secrets: map[string]Secret{"api_token": secret}}
	outputs := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%p"} {
		outputs["secret "+verb] = fmt.Sprintf(verb, secret)
		outputs["pointer "+verb] = fmt.Sprintf(verb, &secret)
		outputs["settings "+verb] = fmt.Sprintf(verb, settings)
	}
	outputs["error"] = fmt.Errorf("connect with %v", secret).Error()
	asJSON, err := json.Marshal(map[string]any{"a": secret, "b": settings.Secrets, "c": &secret})
	if err != nil {
		t.Fatal(err)
	}
	outputs["json"] = string(asJSON)
	if !strings.Contains(outputs["json"], `"a":"***"`) {
		t.Errorf("expected three asterisks in JSON, got %s", outputs["json"])
	}
	asYAML, err := yaml.Marshal(map[string]any{"a": secret, "b": settings.Secrets})
	if err != nil {
		t.Fatal(err)
	}
	outputs["yaml"] = string(asYAML)
	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("start", "secret", secret, "secrets", settings.Secrets, "settings", settings)
	}
	outputs["slog"] = log.String()
	hidden := map[string]bool{content: true, fmt.Sprintf("%x", content): true, fmt.Sprintf("%X", content): true}
	for how, output := range outputs {
		for text := range hidden {
			if strings.Contains(output, text) {
				t.Errorf("%s shows the secret: %s", how, output)
			}
		}
	}
	if got := fmt.Sprint(secret); got != "***" {
		t.Errorf("expected three asterisks, got %q", got)
	}
}

func TestSecretReveals(t *testing.T) {
	if got := NewSecret("hunter2").Reveal(); got != "hunter2" {
		t.Errorf("expected the content, got %q", got)
	}
	for _, empty := range []Secret{{}, NewSecret("")} {
		if empty.Reveal() != "" || !empty.Empty() {
			t.Errorf("expected an empty secret, got %q", empty.Reveal())
		}
	}
	if NewSecret("x").Empty() {
		t.Error("a secret with content is not empty")
	}
}
