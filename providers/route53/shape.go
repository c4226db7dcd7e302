package route53

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"sidestep/pkg/record"
)

// rrset is a set as the API lists it, with all of its attributes. One that was
// listed is never changed: a later DELETE has to repeat it exactly.
type rrset = types.ResourceRecordSet

// fixed says why the values of a set cannot be written, empty when they can.
func fixed(s *rrset) string {
	switch {
	case s.AliasTarget != nil:
		return "an alias of " + aws.ToString(s.AliasTarget.DNSName)
	case s.TrafficPolicyInstanceId != nil:
		return "kept by the traffic policy instance " + *s.TrafficPolicyInstanceId
	}
	return ""
}

// own reports whether a set is one of those by which weights are kept for the
// values of one name: weighted, with a single value that is its identifier too.
// Any other identifier is somebody's own, and names a variant.
func own(s *rrset) bool {
	if s.Weight == nil || len(s.ResourceRecords) != 1 {
		return false
	}
	value := aws.ToString(s.ResourceRecords[0].Value)
	canonical, err := record.ParseValue(record.Type(s.Type), value)
	id := aws.ToString(s.SetIdentifier)
	return id == value || err == nil && id == canonical
}

// variant is the variant that a set is, empty for the one without.
func variant(s *rrset) string {
	if s.SetIdentifier == nil || own(s) {
		return ""
	}
	return *s.SetIdentifier
}

// weight is that of each value of a set; 1 where there are no weights.
func weight(s *rrset) int {
	if s.Weight == nil {
		return 1
	}
	return int(*s.Weight)
}

// policy names the routing policy of a set, for people.
func policy(s *rrset) string {
	switch {
	case s.Weight != nil:
		return "weighted"
	case s.Region != "":
		return "latency"
	case s.Failover != "":
		return "failover"
	case s.GeoLocation != nil:
		return "geolocation"
	case s.GeoProximityLocation != nil:
		return "geoproximity"
	case s.CidrRoutingConfig != nil:
		return "IP-based"
	case aws.ToBool(s.MultiValueAnswer):
		return "multivalue"
	}
	return "simple"
}

// attributes are those of a set beside its values and TTL, as a parked copy
// keeps them: what brings the set back when its last value was paused.
func attributes(s *rrset) map[string]string {
	m := map[string]string{}
	put := func(key string, value *string) {
		if value != nil && *value != "" {
			m[key] = quote(*value)
		}
	}
	if !own(s) {
		put("set", s.SetIdentifier)
	}
	if s.Weight != nil {
		m["weight"] = strconv.FormatInt(*s.Weight, 10)
	}
	if aws.ToBool(s.MultiValueAnswer) {
		m["multivalue"] = "1"
	}
	put("health", s.HealthCheckId)
	put("region", aws.String(string(s.Region)))
	put("failover", aws.String(string(s.Failover)))
	if g := s.GeoLocation; g != nil {
		put("continent", g.ContinentCode)
		put("country", g.CountryCode)
		put("subdivision", g.SubdivisionCode)
	}
	if g := s.GeoProximityLocation; g != nil {
		put("near", g.AWSRegion)
		put("near_zone", g.LocalZoneGroup)
		if g.Bias != nil {
			m["bias"] = strconv.FormatInt(int64(*g.Bias), 10)
		}
		if g.Coordinates != nil {
			m["at"] = quote(aws.ToString(g.Coordinates.Latitude) + "," + aws.ToString(g.Coordinates.Longitude))
		}
	}
	if c := s.CidrRoutingConfig; c != nil {
		put("cidr", c.CollectionId)
		put("location", c.LocationName)
	}
	return m
}

// shape is attributes backwards: a set without values.
func shape(m map[string]string) (rrset, error) {
	get := func(key string) *string {
		if m[key] == "" {
			return nil
		}
		return aws.String(unquote(m[key]))
	}
	s := rrset{SetIdentifier: get("set"), HealthCheckId: get("health"), Region: types.ResourceRecordSetRegion(aws.ToString(get("region"))), Failover: types.ResourceRecordSetFailover(aws.ToString(get("failover")))}
	if m["weight"] != "" {
		n, err := strconv.ParseInt(m["weight"], 10, 64)
		if err != nil || n < 0 || n > maxWeight {
			return s, fmt.Errorf("the parked copy has the weight %q; expected 0 to %d", m["weight"], maxWeight)
		}
		s.Weight = aws.Int64(n)
	}
	if m["multivalue"] == "1" {
		s.MultiValueAnswer = aws.Bool(true)
	}
	if m["continent"] != "" || m["country"] != "" {
		s.GeoLocation = &types.GeoLocation{ContinentCode: get("continent"), CountryCode: get("country"), SubdivisionCode: get("subdivision")}
	}
	if m["cidr"] != "" {
		s.CidrRoutingConfig = &types.CidrRoutingConfig{CollectionId: get("cidr"), LocationName: get("location")}
	}
	var err error
	s.GeoProximityLocation, err = proximity(m, get)
	return s, err
}

func proximity(m map[string]string, get func(string) *string) (*types.GeoProximityLocation, error) {
	if m["near"] == "" && m["near_zone"] == "" && m["at"] == "" {
		return nil, nil
	}
	g := &types.GeoProximityLocation{AWSRegion: get("near"), LocalZoneGroup: get("near_zone")}
	if m["bias"] != "" {
		n, err := strconv.ParseInt(m["bias"], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("the parked copy has the bias %q; expected a number", m["bias"])
		}
		g.Bias = aws.Int32(int32(n))
	}
	if latitude, longitude, found := strings.Cut(unquote(m["at"]), ","); found {
		g.Coordinates = &types.Coordinates{Latitude: aws.String(latitude), Longitude: aws.String(longitude)}
	}
	return g, nil
}

// maxWeight is the largest weight of a record (API_ResourceRecordSet, Weight).
const maxWeight = 255

// same compares everything of two sets, as Route 53 does: a name in either of
// its spellings, values in any order.
func same(a, b *rrset) bool {
	return a.Type == b.Type && len(a.ResourceRecords) == len(b.ResourceRecords) && alike(a) == alike(b)
}

func alike(s *rrset) string {
	c := *s
	if name, err := parseName(aws.ToString(s.Name)); err == nil {
		c.Name = aws.String(string(name))
	}
	c.ResourceRecords = slices.SortedFunc(slices.Values(s.ResourceRecords), func(x, y types.ResourceRecord) int {
		return strings.Compare(aws.ToString(x.Value), aws.ToString(y.Value))
	})
	return line(&c)
}

// line is a set with every attribute, on one line.
func line(s *rrset) string {
	text := fmt.Sprintf("%s %d %s", aws.ToString(s.Name), aws.ToInt64(s.TTL), s.Type)
	for _, r := range s.ResourceRecords {
		text += " " + aws.ToString(r.Value)
	}
	if a := s.AliasTarget; a != nil {
		text += fmt.Sprintf(" alias=%s/%s/%v", aws.ToString(a.HostedZoneId), aws.ToString(a.DNSName), a.EvaluateTargetHealth)
	}
	m := attributes(s)
	if s.SetIdentifier != nil {
		m["set"] = quote(*s.SetIdentifier)
	}
	for _, key := range sortedKeys(m) {
		text += " " + key + "=" + m[key]
	}
	return text
}
