package config

import (
	"strings"
	"testing"
)

// TestControlOverTCP: it is off unless tokens are named or an address is, and needs TLS
// elsewhere than on loopback.
func TestControlOverTCP(t *testing.T) {
	const long = "0123456789abcdef0123"
	token := "tokens: [{name: ops, role: operate, token: " + long + "}]"
	for text, want := range map[string]string{
		"{}": "", "{listen: \"\", " + token + "}": "", "{" + token + "}": DefaultListen,
		"{listen: \"127.0.0.1:80\"}": "127.0.0.1:80", "{listen: \"[::1]:80\", " + token + "}": "[::1]:80",
	} {
		cfg := mustParse(t, "t.yaml", small+"control: "+text+"\n", world())
		if cfg.Control.Listen != want {
			t.Errorf("control: %s listens on %q, want %q", text, cfg.Control.Listen, want)
		}
		for _, token := range cfg.Control.Tokens {
			if token.Name != "ops" || token.Role != "operate" || token.Token.Reveal() != long {
				t.Errorf("the token is %+v", token)
			}
		}
		if shown := string(cfg.Show()); strings.Contains(shown, long) || want != "" && !strings.Contains(shown, "listen: "+want) && !strings.Contains(shown, `listen: '`+want) && !strings.Contains(shown, `listen: "`+want) {
			t.Errorf("it is shown as %s", shown)
		}
	}
	for text, want := range map[string]string{
		"{listen: \"0.0.0.0:9953\"}":                                                   "0.0.0.0:9953 is not loopback: tokens would be sent for everybody to read; add tls: {cert: FILE, key: FILE}",
		"{listen: \"localhost:9953\"}":                                                 "expected ADDR:PORT",
		"{tokens: [{name: a, role: write, token: x}]}":                                 "operate",
		"{tokens: [{name: a, role: read, token: x}, {name: a, role: read, token: y}]}": "there are two tokens of the name a",
		"{tls: {cert: nosuch.pem, key: nosuch.pem}}":                                   "cannot read",
	} {
		_, err := Parse("t.yaml", []byte(small+"control: "+text+"\n"), world())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("control: %s: %v, want %q", text, err, want)
		}
	}
	cfg := mustParse(t, "t.yaml", small+"control: {tokens: [{name: a, role: read, token: short}, {name: b, role: read, token: short}]}\n", world())
	var warned strings.Builder
	for _, w := range cfg.Warnings {
		warned.WriteString(w.String() + "\n")
	}
	if text := warned.String(); !strings.Contains(text, "can be guessed") || !strings.Contains(text, "the token of a as well") {
		t.Errorf("warned of %s", text)
	}
}
