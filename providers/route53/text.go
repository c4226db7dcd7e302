package route53

import (
	"fmt"
	"strings"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// Route 53 writes a byte that has no plain form as a backslash and three octal
// digits, in names and in TXT values alike ("DNS domain name format" and "TXT
// record type" of its Developer Guide). Elsewhere in the DNS these digits are
// decimal (RFC 1035 section 5.1), so that no other reader will do.

// octal reads the three digits after a backslash.
func octal(s string) (byte, bool) {
	if len(s) < 3 {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s[:3]) {
		if c < '0' || c > '7' {
			return 0, false
		}
		n = n*8 + int(c-'0')
	}
	return byte(n), n < 256 //nolint:gosec // bounded beside it
}

// parseName reads a name as Route 53 lists it: "\052.example.com.".
func parseName(s string) (record.Name, error) {
	if !strings.Contains(s, `\`) {
		return record.ParseName(s)
	}
	var name strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			name.WriteByte(s[i])
			continue
		}
		c, ok := octal(s[i+1:])
		if !ok || c == '.' {
			return "", fmt.Errorf("read name %q: %q is no escape that a name of the config can have", s, s[i:min(len(s), i+4)])
		}
		name.WriteByte(c)
		i += 3
	}
	return record.ParseName(name.String())
}

// parseText joins the strings of a TXT value to the bytes that they mean.
func parseText(s string) (string, error) {
	var text strings.Builder
	quoted := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\t'):
		case c == '\\' && i+1 < len(s):
			if b, ok := octal(s[i+1:]); ok {
				text.WriteByte(b)
				i += 3
				continue
			}
			i++
			text.WriteByte(s[i])
		case !quoted:
			return "", fmt.Errorf("read TXT value %q: expected strings in double quotes", s)
		default:
			text.WriteByte(c)
		}
	}
	if quoted {
		return "", fmt.Errorf("read TXT value %q: a double quote is open at its end", s)
	}
	return text.String(), nil
}

// maxString is the longest string of a TXT record (RFC 1035 section 3.3).
const maxString = 255

// formatText is parseText backwards, in as many strings as it takes.
func formatText(text string) string {
	var value strings.Builder
	value.WriteByte('"')
	for i := range len(text) {
		if i > 0 && i%maxString == 0 {
			value.WriteString(`" "`)
		}
		switch c := text[i]; {
		case c == '"' || c == '\\':
			value.WriteByte('\\')
			value.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&value, `\%03o`, c)
		default:
			value.WriteByte(c)
		}
	}
	value.WriteByte('"')
	return value.String()
}

// A parked copy's fields are parted by spaces and equals signs, which a set
// identifier may have. quote writes every byte but plain ones as %XX.
func quote(s string) string {
	var quoted strings.Builder
	for i := range len(s) {
		c := s[i]
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._:/+,@~-", c) >= 0
		if plain && s != "-" {
			quoted.WriteByte(c)
			continue
		}
		fmt.Fprintf(&quoted, "%%%02X", c)
	}
	return quoted.String()
}

// unquote is quote backwards; what is no escape stays as it is.
func unquote(s string) string {
	var text strings.Builder
	for i := 0; i < len(s); i++ {
		var c byte
		if s[i] == '%' && i+2 < len(s) {
			if n, err := fmt.Sscanf(s[i+1:i+3], "%02X", &c); err == nil && n == 1 {
				text.WriteByte(c)
				i += 2
				continue
			}
		}
		text.WriteByte(s[i])
	}
	return text.String()
}

func stampName(zone record.Name) record.Name { return zone.Below(provider.StampLabel) }
