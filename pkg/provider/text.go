package provider

import (
	"fmt"
	"strings"
)

// maxString is the longest character string of a TXT record (RFC 1035 section 3.3).
const maxString = 255

// QuoteText spells a text as the content of a TXT record in a zone file:
// character strings in quotes, a byte without a plain form as a backslash and
// three decimal digits (RFC 1035 section 5.1).
func QuoteText(text string) string {
	var out strings.Builder
	for first := true; first || text != ""; first = false {
		part := text[:min(len(text), maxString)]
		text = text[len(part):]
		if !first {
			out.WriteByte(' ')
		}
		out.WriteByte('"')
		for _, c := range []byte(part) {
			switch {
			case c == '"' || c == '\\':
				out.Write([]byte{'\\', c})
			case c < ' ' || c > '~':
				fmt.Fprintf(&out, `\%03d`, c)
			default:
				out.WriteByte(c)
			}
		}
		out.WriteByte('"')
	}
	return out.String()
}

// ParseText is QuoteText backwards: the strings joined, byte for byte.
func ParseText(content string) (string, error) {
	var text strings.Builder
	rest := strings.TrimSpace(content)
	for rest != "" {
		if rest[0] != '"' {
			return "", fmt.Errorf("read text %q: expected quoted strings", content)
		}
		i := 1
		for ; i < len(rest) && rest[i] != '"'; i++ {
			c := rest[i]
			if c == '\\' {
				var size int
				if c, size = unescape(rest[i:]); size == 0 {
					return "", fmt.Errorf("read text %q: an escape that is none", content)
				}
				i += size - 1
			}
			text.WriteByte(c)
		}
		if i == len(rest) {
			return "", fmt.Errorf("read text %q: a string without its closing quote", content)
		}
		rest = strings.TrimLeft(rest[i+1:], " \t")
	}
	return text.String(), nil
}

// unescape reads \DDD or \c; size is 0 where it is neither.
func unescape(s string) (c byte, size int) {
	switch {
	case len(s) < 2:
		return 0, 0
	case !digit(s[1]):
		return s[1], 2
	case len(s) < 4 || !digit(s[2]) || !digit(s[3]):
		return 0, 0
	}
	n := int(s[1]-'0')*100 + int(s[2]-'0')*10 + int(s[3]-'0')
	if n > 255 {
		return 0, 0
	}
	return byte(n), 4
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
