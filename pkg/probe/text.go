package probe

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sidestep/pkg/check"
)

// maxQuote is how many bytes of a server's text one detail quotes.
const maxQuote = 80

// masked stands where a secret was.
const masked = "***"

// quote makes text of a server safe to show: secrets out, escaped, and cut to
// maxQuote bytes, so that what was expected and what came both have room in a
// detail. Dots after the quotes say that there was more.
func (a *attempt) quote(text string) string {
	text = a.plain(text)
	quoted := strconv.QuoteToASCII(text[:min(len(text), maxQuote)])
	if len(quoted) <= maxQuote && len(text) <= maxQuote {
		return quoted
	}
	cut := 0
	for at := 0; at < len(text); {
		_, size := utf8.DecodeRuneInString(text[at:])
		cut += len(strconv.QuoteToASCII(text[at:at+size])) - len(`""`)
		if cut > maxQuote-len(`""...`) {
			return strconv.QuoteToASCII(text[:at]) + "..."
		}
		at += size
	}
	return quoted
}

// plain takes the secrets of the check out of text of a server.
func (a *attempt) plain(text string) string {
	if a.shared == nil || a.shared.secrets == nil {
		return text
	}
	return a.shared.secrets.Replace(text)
}

// minSecret is the length below which a header value is no secret that could be
// kept: masking every "1" would only make details unreadable.
const minSecret = 4

// masks makes the replacer for the values of request headers; nil without any.
func masks(headers []check.Header) *strings.Replacer {
	var secrets []string
	for _, header := range headers {
		secrets = append(secrets, spellings(strings.TrimSpace(header.Value))...)
	}
	return mask(secrets...)
}

// mask makes a replacer that takes texts out, as they are and as servers and
// parsers escape them; nil when there is nothing to take out.
func mask(texts ...string) *strings.Replacer {
	var secrets []string
	for _, secret := range texts {
		if len(secret) >= minSecret {
			quoted := strconv.Quote(secret) // parsers quote what they complain of
			secrets = append(secrets, secret, quoted[1:len(quoted)-1], url.PathEscape(secret), url.QueryEscape(secret))
		}
	}
	if len(secrets) == 0 {
		return nil
	}
	// The longest first: the replacer takes the first that fits.
	slices.SortFunc(secrets, func(x, y string) int { return cmp.Compare(len(y), len(x)) })
	pairs := make([]string, 0, 2*len(secrets))
	for _, secret := range secrets {
		pairs = append(pairs, secret, masked)
	}
	return strings.NewReplacer(pairs...)
}

// spellings lists the forms in which a server may echo a header value: whole,
// without the scheme before it ("Bearer x"), and what Basic stands for.
func spellings(value string) []string {
	all := []string{value}
	scheme, credentials, ok := strings.Cut(value, " ")
	if !ok {
		return all
	}
	all = append(all, credentials)
	if strings.EqualFold(scheme, "basic") {
		if plain, err := base64.StdEncoding.DecodeString(credentials); err == nil {
			_, password, _ := strings.Cut(string(plain), ":")
			all = append(all, string(plain), password)
		}
	}
	return all
}

// clean makes a whole detail fit for a terminal and a log line: printable ASCII
// and at most check.MaxDetail bytes, with a mark where it was cut.
func clean(detail string) string {
	var out strings.Builder
	for _, r := range detail {
		if ' ' <= r && r <= '~' {
			out.WriteRune(r)
			continue
		}
		escaped := strconv.QuoteRuneToASCII(r)
		out.WriteString(escaped[1 : len(escaped)-1])
	}
	if out.Len() > check.MaxDetail {
		return out.String()[:check.MaxDetail-3] + "..."
	}
	return out.String()
}
