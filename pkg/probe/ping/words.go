package ping

import "fmt"

// unreachableWords4 are the codes of "destination unreachable" (RFC 792, RFC
// 1122 section 3.2.2.1, RFC 1812 section 5.2.7.1).
var unreachableWords4 = []string{
	"network unreachable", "host unreachable", "protocol unreachable", "port unreachable",
	"packet too big", "source route failed", "network unknown", "host unknown", "source host isolated",
	"network administratively prohibited", "host administratively prohibited",
	"network unreachable for this type of service", "host unreachable for this type of service",
	"administratively prohibited", "host precedence violation", "precedence cutoff",
}

// unreachableWords6 are those of ICMPv6 (RFC 4443 section 3.1, RFC 6550).
var unreachableWords6 = []string{
	"no route to destination", "administratively prohibited", "beyond the scope of the source address",
	"address unreachable", "port unreachable", "source address failed policy", "route rejects",
	"error in source routing header",
}

var exceededWords = []string{"time to live exceeded", "fragment reassembly time exceeded"}

// words says what an ICMP error means, and who sent it.
func (m message) words() string {
	text := words4(m.kind, m.code)
	if m.peer.Is6() {
		text = words6(m.kind, m.code)
	}
	if m.by.IsValid() {
		return fmt.Sprintf("%s, says %s", text, m.by)
	}
	return text
}

func words4(kind, code uint8) string {
	switch kind {
	case unreachable4:
		return pick(unreachableWords4, "destination unreachable", code)
	case exceeded4:
		return pick(exceededWords, "time exceeded", code)
	}
	return fmt.Sprintf("parameter problem, code %d", code)
}

func words6(kind, code uint8) string {
	switch kind {
	case unreachable6:
		return pick(unreachableWords6, "destination unreachable", code)
	case tooBig6:
		return "packet too big"
	case exceeded6:
		return pick(exceededWords, "time exceeded", code)
	}
	return fmt.Sprintf("parameter problem, code %d", code)
}

func pick(list []string, otherwise string, code uint8) string {
	if int(code) < len(list) {
		return list[code]
	}
	return fmt.Sprintf("%s, code %d", otherwise, code)
}
