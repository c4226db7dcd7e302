package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSocket(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"":                                      DefaultSocket,
		"zones: []\n":                           DefaultSocket,
		"control: {socket: /tmp/a.sock}\n":      "/tmp/a.sock",
		"control: {socket: run/a.sock}\n":       filepath.Join(dir, "run/a.sock"),
		"unknown: 1\ncontrol: {socket: /x/y}\n": "/x/y",
		"control: [\n":                          DefaultSocket,
	} {
		path := filepath.Join(dir, "sidestep.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Socket(path); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	if got := Socket(filepath.Join(dir, "none.yaml")); got != DefaultSocket {
		t.Errorf("no file: got %s", got)
	}
}
