package route53test

import (
	"fmt"
	"slices"
	"strings"
)

// set is a ResourceRecordSet as the wire has it, in the order of the schema.
type set struct {
	Name                    string
	Type                    string
	SetIdentifier           *string       `xml:",omitempty"`
	Weight                  *int64        `xml:",omitempty"`
	Region                  *string       `xml:",omitempty"`
	GeoLocation             *geoLocation  `xml:",omitempty"`
	Failover                *string       `xml:",omitempty"`
	MultiValueAnswer        *bool         `xml:",omitempty"`
	TTL                     *int64        `xml:",omitempty"`
	ResourceRecords         *records      `xml:",omitempty"`
	AliasTarget             *aliasTarget  `xml:",omitempty"`
	HealthCheckID           *string       `xml:"HealthCheckId,omitempty"`
	TrafficPolicyInstanceID *string       `xml:"TrafficPolicyInstanceId,omitempty"`
	CidrRoutingConfig       *cidr         `xml:",omitempty"`
	GeoProximityLocation    *geoProximity `xml:",omitempty"`
}

type records struct {
	ResourceRecord []resourceRecord
}

type resourceRecord struct{ Value string }

type geoLocation struct {
	ContinentCode   *string `xml:",omitempty"`
	CountryCode     *string `xml:",omitempty"`
	SubdivisionCode *string `xml:",omitempty"`
}

type aliasTarget struct {
	HostedZoneID         string `xml:"HostedZoneId"`
	DNSName              string
	EvaluateTargetHealth bool
}

type cidr struct {
	CollectionID string `xml:"CollectionId"`
	LocationName string
}

type geoProximity struct {
	AWSRegion      *string      `xml:",omitempty"`
	LocalZoneGroup *string      `xml:",omitempty"`
	Coordinates    *coordinates `xml:",omitempty"`
	Bias           *int64       `xml:",omitempty"`
}

type coordinates struct{ Latitude, Longitude string }

// values are those of a set that has any.
func (s *set) values() []string {
	if s.ResourceRecords == nil {
		return nil
	}
	var values []string
	for _, r := range s.ResourceRecords.ResourceRecord {
		values = append(values, r.Value)
	}
	return values
}

func (s *set) setValues(values []string) {
	s.ResourceRecords = &records{}
	for _, v := range values {
		s.ResourceRecords.ResourceRecord = append(s.ResourceRecords.ResourceRecord, resourceRecord{v})
	}
}

// id is what a set is addressed by.
type id struct{ name, kind, identifier string }

func (s *set) id() id { return id{normal(s.Name), s.Type, text(s.SetIdentifier)} }

// normal is a name as Route 53 keeps it: lower case, with the final dot, and
// with octal escapes for all but a-z, 0-9, -, _ and dots.
func normal(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, ".")) + "."
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_', c == '.', c == '\\':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	return b.String()
}

// plain is a name with an asterisk for its escape.
func plain(name string) string { return strings.ReplaceAll(normal(name), `\052`, "*") }

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func number(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// policy is the routing policy that a set has an attribute of; of several, all.
func (s *set) policy() []string {
	var found []string
	for name, has := range map[string]bool{
		"Weight": s.Weight != nil, "Region": s.Region != nil, "Failover": s.Failover != nil, "GeoLocation": s.GeoLocation != nil,
		"MultiValueAnswer": s.MultiValueAnswer != nil && *s.MultiValueAnswer, "CidrRoutingConfig": s.CidrRoutingConfig != nil,
		"GeoProximityLocation": s.GeoProximityLocation != nil,
	} {
		if has {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// line is a set on one line, with every attribute.
func (s *set) line() string {
	line := fmt.Sprintf("%s %d %s", plain(s.Name), number(s.TTL), s.Type)
	for _, v := range slices.Sorted(slices.Values(s.values())) {
		line += " " + v
	}
	add := func(key string, value any) { line += fmt.Sprintf(" %s=%v", key, value) }
	if s.SetIdentifier != nil {
		add("set", *s.SetIdentifier)
	}
	if s.Weight != nil {
		add("weight", *s.Weight)
	}
	if s.Region != nil {
		add("region", *s.Region)
	}
	if s.Failover != nil {
		add("failover", *s.Failover)
	}
	if g := s.GeoLocation; g != nil {
		add("geo", text(g.ContinentCode)+"/"+text(g.CountryCode)+"/"+text(g.SubdivisionCode))
	}
	if s.MultiValueAnswer != nil {
		add("multivalue", *s.MultiValueAnswer)
	}
	if a := s.AliasTarget; a != nil {
		add("alias", fmt.Sprintf("%s/%s/%v", a.HostedZoneID, a.DNSName, a.EvaluateTargetHealth))
	}
	if s.HealthCheckID != nil {
		add("health", *s.HealthCheckID)
	}
	if s.TrafficPolicyInstanceID != nil {
		add("policy", *s.TrafficPolicyInstanceID)
	}
	if c := s.CidrRoutingConfig; c != nil {
		add("cidr", c.CollectionID+"/"+c.LocationName)
	}
	if g := s.GeoProximityLocation; g != nil {
		add("near", fmt.Sprintf("%s/%s/%+v/%d", text(g.AWSRegion), text(g.LocalZoneGroup), g.Coordinates, number(g.Bias)))
	}
	return line
}

// equal compares everything of two sets; values in any order.
func (s *set) equal(o *set) bool {
	a, b := slices.Sorted(slices.Values(s.values())), slices.Sorted(slices.Values(o.values()))
	return s.id() == o.id() && slices.Equal(a, b) && s.line() == o.line()
}

// compare orders sets as a list does: by the labels of the name from the last to
// the first, then by type and identifier.
func compare(a, b id) int {
	if c := slices.Compare(labels(a.name), labels(b.name)); c != 0 {
		return c
	}
	if c := strings.Compare(a.kind, b.kind); c != 0 {
		return c
	}
	return strings.Compare(a.identifier, b.identifier)
}

func labels(name string) []string {
	l := strings.Split(strings.TrimSuffix(name, "."), ".")
	slices.Reverse(l)
	return l
}
