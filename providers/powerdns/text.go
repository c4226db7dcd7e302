package powerdns

import (
	"fmt"
	"strings"
)

// maxString is the longest character-string of a TXT record (RFC 1035 section 3.3).
const maxString = 255

// textOf is the text of a TXT record, its strings joined, byte for byte, free of
// the quotes and escapes in which the API has it (RFC 1035 section 5.1).
func textOf(content string) (string, error) {
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

// quote spells a text as the API wants it.
func quote(text string) string {
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
