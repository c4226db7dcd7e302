package config

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidestep/pkg/record"
)

// quote shows a text of the file in a message: escaped, and cut where it would
// drown the message.
func quote(s string) string {
	if len(s) > 80 {
		return strconv.Quote(strings.ToValidUTF8(s[:80], "")) + "…"
	}
	return strconv.Quote(s)
}

// maxLabel is the length of the longest name of a check, site or scenario.
const maxLabel = 63

func isLabel(s string) bool {
	return s != "" && len(s) <= maxLabel && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// text takes anything but nothing.
func text(word string) *kind {
	return &kind{word: word, parse: func(s string) (any, *fault) {
		if s == "" {
			return nil, faultf("expected %s, got an empty text", word)
		}
		return s, nil
	}}
}

// yamlWords are what YAML, in one version or another, takes for a boolean.
var yamlWords = []string{"true", "false", "yes", "no", "on", "off", "y", "n"}

// reason takes the words for something that is so as soon as its key is there:
// a boolean would read as a switch, and "false" do the opposite of it.
func reason(so string) *kind {
	words := text("a reason in words")
	return &kind{word: words.word, parse: func(s string) (any, *fault) {
		if slices.Contains(yamlWords, strings.ToLower(s)) {
			return nil, faultf("expected a reason in words, got %s; %s as soon as the key is there", quote(s), so).advise("remove the line if that is not meant")
		}
		return words.parse(s)
	}}
}

// anyText takes an empty text, too.
func anyText(word string) *kind {
	return &kind{word: word, parse: func(s string) (any, *fault) { return s, nil }}
}

// secret is a text that no message shows; build*.go reads what it points to.
func secret() *kind {
	k := text("a secret: env:NAME, file:PATH, credential:NAME, or the text itself")
	k.secret = true
	return k
}

// path is a file of this host.
func path(word string) *kind {
	return &kind{word: word, path: true, parse: func(s string) (any, *fault) {
		if s == "" || strings.ContainsRune(s, 0) {
			return nil, faultf("expected %s, got %s", word, quote(s))
		}
		return filepath.Clean(s), nil
	}}
}

// pattern takes a text that a regular expression matches as a whole.
func pattern(word, expression string) *kind {
	re := regexp.MustCompile(`^(?:` + expression + `)$`)
	return &kind{word: word, parse: func(s string) (any, *fault) {
		if !re.MatchString(s) {
			return nil, faultf("expected %s, got %s", word, quote(s))
		}
		return s, nil
	}}
}

func label(what string) *kind { return pattern(what+" of a-z, 0-9 and -", `[a-z0-9-]{1,63}`) }

// choice takes one of the words.
func choice(words ...string) *kind {
	word := strings.Join(words, " | ")
	return &kind{word: word, parse: func(s string) (any, *fault) {
		if slices.Contains(words, s) {
			return s, nil
		}
		return nil, faultf("expected %s, got %s", word, quote(s)).advise(maybe(s, words))
	}}
}

// otherNames are what people call a provider, beside its name here.
var otherNames = map[string]string{
	"aws": "route53", "amazon": "route53", "route-53": "route53", "r53": "route53",
	"dnspod": "tencentcloud", "tencent": "tencentcloud", "qcloud": "tencentcloud",
	"pdns": "powerdns", "cf": "cloudflare",
	"bind": "rfc2136", "bind9": "rfc2136", "named": "rfc2136", "knot": "rfc2136", "dnsupdate": "rfc2136", "nsupdate": "rfc2136",
	"file": "local", "embedded": "local",
}

// providerName takes the name of a provider, and knows what else it is called.
func providerName() *kind {
	of := choice("cloudflare", "route53", "tencentcloud", "powerdns", "rfc2136", "local", "hetzner", "gandi", "ovh")
	return &kind{word: of.word, parse: func(s string) (any, *fault) {
		value, wrong := of.parse(s)
		if other, known := otherNames[strings.ToLower(s)]; wrong != nil && known {
			return nil, wrong.advise(fmt.Sprintf("here it is called %s", other))
		}
		return value, wrong
	}}
}

// tsigAlgorithm takes what RFC 8945 section 6 allows, as dig and named spell it.
func tsigAlgorithm() *kind {
	of := choice("hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512")
	return &kind{word: of.word, parse: func(s string) (any, *fault) {
		return of.parse(strings.ToLower(strings.TrimSuffix(s, ".")))
	}}
}

func boolean() *kind {
	return &kind{word: "true | false", parse: func(s string) (any, *fault) {
		switch s {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, faultf("expected true or false, got %s", quote(s))
	}}
}

var decimal = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)$`)

// count takes a whole number from low to high, as an int.
func count(low, high int) *kind {
	word := fmt.Sprintf("a whole number from %d to %d", low, high)
	if high == math.MaxInt32 {
		word = fmt.Sprintf("a whole number, %d or more", low)
	}
	return &kind{word: word, parse: func(s string) (any, *fault) {
		n, err := strconv.Atoi(s)
		if err != nil || !decimal.MatchString(s) || n < low || n > high {
			return nil, faultf("expected %s, got %s", word, quote(s))
		}
		return n, nil
	}}
}

// longest is the longest duration a config can ask for: ten years.
const longest = 10 * 365 * 24 * time.Hour

// duration takes 10s, 1m30s or a number of seconds, from low up.
func duration(low time.Duration) *kind {
	word := "a duration"
	if low > 0 {
		word += ", " + short(low) + " or more"
	}
	return &kind{word: word, parse: func(s string) (any, *fault) {
		d, ok := parseDuration(s)
		switch {
		case !ok:
			return nil, faultf("expected a duration such as 10s or 1m30s, or a number of seconds, got %s", quote(s))
		case d < low:
			return nil, faultf("expected %s or more, got %s", short(low), quote(s))
		case d > longest:
			return nil, faultf("expected at most ten years, got %s", quote(s))
		}
		return d, nil
	}}
}

var seconds = regexp.MustCompile(`^(?:0|[1-9][0-9]{0,9})(?:\.[0-9]{1,9})?$`)

func parseDuration(s string) (time.Duration, bool) {
	if seconds.MatchString(s) {
		s += "s"
	}
	d, err := time.ParseDuration(s)
	return d, err == nil
}

// short writes a duration without the zeros of time.Duration's own form:
// 5m, not 5m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// maxTTL is the largest time to live of a record (RFC 2181 section 8).
const maxTTL = math.MaxInt32 * time.Second

// ttl takes a duration of whole seconds from 1 to 2147483647.
func ttl() *kind {
	const word = "whole seconds from 1s to 2147483647s"
	return &kind{word: word, parse: func(s string) (any, *fault) {
		d, ok := parseDuration(s)
		if !ok || d < time.Second || d > maxTTL || d%time.Second != 0 {
			return nil, faultf("expected %s, got %s", word, quote(s))
		}
		return d, nil
	}}
}

var sizeText = regexp.MustCompile(`^([1-9][0-9]{0,8})(B|KiB|MiB)?$`)

// size takes 65536, 64KiB or 1MiB, up to high bytes, as an int64.
func size(high int64) *kind {
	word := "a size such as 64KiB, at most " + showSize(high)
	return &kind{word: word, parse: func(s string) (any, *fault) {
		m := sizeText.FindStringSubmatch(s)
		if m == nil {
			return nil, faultf("expected %s, got %s", word, quote(s))
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		unit := map[string]int64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[m[2]]
		if err != nil || n > high/unit {
			return nil, faultf("expected %s, got %s", word, quote(s))
		}
		return n * unit, nil
	}}
}

// showSize writes a size in the largest unit that holds it whole.
func showSize(n int64) string {
	switch {
	case n%(1<<20) == 0:
		return fmt.Sprintf("%dMiB", n>>20)
	case n%(1<<10) == 0:
		return fmt.Sprintf("%dKiB", n>>10)
	}
	return strconv.FormatInt(n, 10)
}

// percent takes 34% or 34, as an int from 0 to 100.
func percent() *kind {
	whole := count(0, 100)
	return &kind{word: "a percentage from 0% to 100%", parse: func(s string) (any, *fault) {
		n, f := whole.parse(strings.TrimSuffix(s, "%"))
		if f != nil {
			return nil, faultf("expected a percentage from 0%% to 100%%, got %s", quote(s))
		}
		return n, nil
	}}
}

// address takes an IP address that packets can be sent to or from.
func address(word string) *kind {
	return &kind{word: word, parse: func(s string) (any, *fault) {
		addr, err := record.ParseAddress(strings.TrimSpace(s))
		if err != nil {
			return nil, faultf("expected %s: %v", word, err)
		}
		return addr, nil
	}}
}

// hostPort takes HOST, HOST:PORT, ADDR or [ADDR]:PORT and gives HOST:PORT; only
// addresses where names is false.
func hostPort(names bool, port string) *kind {
	word := "ADDR:PORT"
	if names {
		word = "HOST:PORT"
	}
	word += ", port " + port + " when there is none"
	return &kind{word: word, parse: func(s string) (any, *fault) {
		host, found, ok := splitHostPort(strings.TrimSpace(s), port)
		if !ok {
			return nil, faultf("expected %s, got %s", word, quote(s))
		}
		canonical, _, err := parseHost(host)
		if err != nil {
			return nil, faultf("expected %s: %v", word, err)
		}
		if _, err := netip.ParseAddr(canonical); err != nil && !names {
			return nil, faultf("expected %s, got the name %s", word, quote(s))
		}
		return joinHostPort(canonical, found), nil
	}}
}

func splitHostPort(s, port string) (host, found string, ok bool) {
	if addr, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return addr.String(), port, true
	}
	host, found, cut := cutLast(s, ":")
	if !cut {
		return s, port, s != ""
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return host, found, host != "" && isPort(found)
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0 && decimal.MatchString(s)
}

func joinHostPort(host, port string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]:" + port
	}
	return host + ":" + port
}

// parseHost makes the canonical form of the host of a URL or a server: an
// address, or a name in A-labels without the final dot.
func parseHost(s string) (host string, isAddress bool, err error) {
	t, err := record.InferType(s)
	if err != nil {
		return "", false, err
	}
	canonical, err := record.ParseValue(t, s)
	if err != nil {
		return "", false, err
	}
	if t == record.CNAME {
		return record.Name(canonical).Unrooted(), false, nil
	}
	return canonical, true, nil
}

// hostName takes a name or an address and gives its canonical form.
func hostName() *kind {
	const word = "a host name or an address"
	return &kind{word: word, parse: func(s string) (any, *fault) {
		host, _, err := parseHost(s)
		if err != nil {
			return nil, faultf("expected %s: %v", word, err)
		}
		return host, nil
	}}
}

// listen takes ADDR:PORT to listen on, port 0 for a free one, or "" for off.
func listen() *kind {
	const word = `ADDR:PORT, or "" for off`
	return &kind{word: word, parse: func(s string) (any, *fault) {
		if s == "" {
			return off{}, nil
		}
		at, err := netip.ParseAddrPort(s)
		if err != nil {
			return nil, faultf("expected %s, got %s", word, quote(s))
		}
		return at.String(), nil
	}}
}

// expression takes a regular expression in the syntax of RE2.
func expression() *kind {
	const word = "a regular expression (RE2)"
	return &kind{word: word, parse: func(s string) (any, *fault) {
		re, err := regexp.Compile(s)
		var wrong *syntax.Error
		switch {
		case errors.As(err, &wrong):
			return nil, faultf("expected %s, got %s: %s", word, quote(s), wrong.Code)
		case err != nil || s == "":
			return nil, faultf("expected %s, got %s", word, quote(s))
		}
		return re, nil
	}}
}

// zoneName takes a domain name that a zone or a TSIG key can have.
func zoneName(word string) *kind {
	return &kind{word: word, parse: func(s string) (any, *fault) {
		name, err := record.ParseName(s)
		if err != nil {
			return nil, faultf("expected %s: %v", word, err)
		}
		if name.Wildcard() {
			return nil, faultf("expected %s, got a wildcard", word)
		}
		return name, nil
	}}
}

// recordType takes A, AAAA or CNAME in any letter case.
func recordType() *kind {
	return &kind{word: "A | AAAA | CNAME", parse: func(s string) (any, *fault) {
		t, err := record.ParseType(s)
		if err != nil {
			return nil, faultf("expected A, AAAA or CNAME, got %s", quote(s))
		}
		return t, nil
	}}
}

// object takes a mapping with these keys.
func object(fields ...field) *kind { return &kind{word: "a mapping", fields: fields} }

// listOf takes a list.
func listOf(of *kind) *kind {
	word := "a list"
	if of.parse != nil && of.fields == nil {
		word += ", each " + of.word
	}
	return &kind{word: word, elem: of}
}

// oneOrMore takes one value or a list of them.
func oneOrMore(of *kind) *kind {
	return &kind{word: of.word + ", or a list", elem: of, parse: func(s string) (any, *fault) {
		value, f := of.parse(s)
		if f != nil && of.areMany(s) {
			f.advise("a list is written [" + strings.Join(manyOf(s), ", ") + "]")
		}
		return value, f
	}}
}

func manyOf(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// areMany reports whether a text is several values without the brackets of a list.
func (k *kind) areMany(s string) bool {
	many := manyOf(s)
	return len(many) > 1 && !slices.ContainsFunc(many, func(one string) bool {
		_, f := k.parse(one)
		return f != nil
	})
}

// dict takes a mapping with free keys.
func dict(word string, of *kind) *kind { return &kind{word: word, each: of} }

// named takes a mapping whose keys are names that the config refers to.
func named(what string, of *kind) *kind {
	return &kind{word: "a mapping of names to " + what, each: of, labels: true}
}

// orOff adds "0 switches it off" to a mapping.
func orOff(of *kind) *kind {
	word := "0, or " + of.word
	return &kind{word: word, fields: of.fields, parse: func(s string) (any, *fault) {
		if s != "0" {
			return nil, faultf("expected %s, got %s", word, quote(s))
		}
		return off{}, nil
	}}
}

// orText takes a mapping, or a plain text that stands for one of its keys.
func orText(plain *kind, of *kind) *kind {
	return &kind{word: plain.word + ", or " + of.word, parse: plain.parse, fields: of.fields}
}
