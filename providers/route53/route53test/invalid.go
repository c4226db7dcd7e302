package route53test

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

var types = []string{"A", "AAAA", "CAA", "CNAME", "DS", "HTTPS", "MX", "NAPTR", "NS", "PTR", "SOA", "SPF", "SRV", "SSHFP", "SVCB", "TLSA", "TXT"}

// shape is what makes a request InvalidInput before anything of the zone is
// looked at.
func (c change) shape() string {
	s := c.ResourceRecordSet
	where := fmt.Sprintf("in Change with [Action=%s, Name=%s, Type=%s, SetIdentifier=%s]", c.Action, normal(s.Name), s.Type, nullable(s.SetIdentifier))
	policies := s.policy()
	switch {
	case !slices.Contains([]string{"CREATE", "DELETE", "UPSERT"}, c.Action):
		return fmt.Sprintf("1 validation error detected: Value '%s' at 'changeBatch.changes.1.member.action' failed to satisfy constraint: Member must satisfy enum value set: [CREATE, DELETE, UPSERT]", c.Action)
	case !slices.Contains(types, s.Type):
		return fmt.Sprintf("1 validation error detected: Value '%s' at 'changeBatch.changes.1.member.resourceRecordSet.type' failed to satisfy constraint: Member must satisfy enum value set: %v", s.Type, types)
	case (s.AliasTarget == nil) == (s.ResourceRecords == nil) && s.TrafficPolicyInstanceID == nil:
		return "Invalid request: Expected exactly one of [AliasTarget, all of [TTL, and ResourceRecords], or TrafficPolicyInstanceId], but found none " + where
	case s.ResourceRecords != nil && len(s.ResourceRecords.ResourceRecord) == 0:
		return "Invalid request: Expected at least one ResourceRecord " + where
	case s.ResourceRecords != nil && s.TTL == nil:
		return "Invalid request: Missing field 'TTL' " + where
	case s.SetIdentifier == nil && len(policies) > 0:
		return "Invalid request: Missing field 'SetIdentifier' " + where
	case s.SetIdentifier != nil && len(policies) != 1:
		return fmt.Sprintf("Invalid request: Expected exactly one of [Weight, Region, Failover, GeoLocation, MultiValueAnswer, CidrRoutingConfig, or GeoProximityLocation], but found %s %s", found(policies), where)
	case s.SetIdentifier != nil && (len(*s.SetIdentifier) < 1 || len(*s.SetIdentifier) > 128):
		return "1 validation error detected: SetIdentifier: Member must have length between 1 and 128"
	case s.Weight != nil && (*s.Weight < 0 || *s.Weight > 255):
		return fmt.Sprintf("1 validation error detected: Value '%d' at 'weight' failed to satisfy constraint: Member must have value less than or equal to 255", *s.Weight)
	case s.TTL != nil && (*s.TTL < 0 || *s.TTL > 2147483647):
		return fmt.Sprintf("1 validation error detected: Value '%d' at 'ttl' failed to satisfy constraint: Member must have value less than or equal to 2147483647", *s.TTL)
	}
	return ""
}

func found(policies []string) string {
	if len(policies) == 0 {
		return "none"
	}
	return "more than one"
}

func nullable(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

// invalid is what makes a set one that cannot be, whatever is beside it.
func (s *set) invalid() string {
	values := s.values()
	if s.Type == "CNAME" && len(values) > 1 {
		return fmt.Sprintf("Invalid Resource Record: 'FATAL problem: TooManyResourceRecords (More than one CNAME) encountered with '%s''", values[0])
	}
	if s.MultiValueAnswer != nil && *s.MultiValueAnswer && len(values) > 1 {
		return fmt.Sprintf("Invalid request: multivalue answer %s has more than one value", s.named())
	}
	if len(values) > 400 {
		return fmt.Sprintf("%s has more than 400 values", s.named())
	}
	seen := map[string]bool{}
	for _, v := range values {
		if seen[v] {
			return fmt.Sprintf("Duplicate Resource Record: '%s'", v)
		}
		seen[v] = true
		if problem := problem(s.Type, v); problem != "" {
			return fmt.Sprintf("Invalid Resource Record: 'FATAL problem: %s encountered with '%s''", problem, v)
		}
	}
	return ""
}

var (
	mx  = regexp.MustCompile(`^\d+ \S+$`)
	srv = regexp.MustCompile(`^\d+ \d+ \d+ \S+$`)
	caa = regexp.MustCompile(`^\d+ [a-z]+ ".*"$`)
	txt = regexp.MustCompile(`^"([^"\\]|\\[0-7]{3}|\\["\\])*"([ \t]+"([^"\\]|\\[0-7]{3}|\\["\\])*")*$`)
)

// problem is what is wrong with one value, in the words of the vendor where
// they are known.
func problem(kind, value string) string {
	if len(value) > 4000 {
		return "ValueTooLong (Value is longer than 4000 characters)"
	}
	addr, err := netip.ParseAddr(value)
	switch {
	case kind == "A" && (err != nil || !addr.Is4()):
		return "ARRDATAIllegalIPv4Address (Value is not a valid IPv4 address)"
	case kind == "AAAA" && (err != nil || !addr.Is6()):
		return "AAAARRDATAIllegalIPv6Address (Value is not a valid IPv6 address)"
	case (kind == "CNAME" || kind == "NS" || kind == "PTR") && (value == "" || strings.ContainsAny(value, " \"")):
		return "DomainLabelEmpty (Domain label is empty)"
	case kind == "MX" && !mx.MatchString(value), kind == "SRV" && !srv.MatchString(value), kind == "CAA" && !caa.MatchString(value):
		return kind + "RRDATANotTwoFields (Value is not in the format of its type)"
	case (kind == "TXT" || kind == "SPF") && !txt.MatchString(value):
		return "InvalidCharacterString (Value should be enclosed in quotation marks)"
	case (kind == "TXT" || kind == "SPF") && tooLong(value):
		return "CharacterStringTooLong (Value is too long)"
	}
	return ""
}

// tooLong reports whether one of a TXT's strings has more than 255 octets.
func tooLong(value string) bool {
	length, quoted := 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '"':
			quoted, length = !quoted, 0
		case !quoted:
		case c == '\\' && value[i+1] >= '0' && value[i+1] <= '7':
			i += 3
			length++
		case c == '\\':
			i++
			length++
		default:
			length++
		}
		if length > 255 {
			return true
		}
	}
	return false
}
