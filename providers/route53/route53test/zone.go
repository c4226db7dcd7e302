package route53test

import (
	"fmt"
	"slices"
	"strings"
)

// zone is one hosted zone.
type zone struct {
	id      string
	name    string // normal
	private bool
	sets    []set // sorted by compare
}

func newZone(name, zoneID string, private bool) *zone {
	ttl, day := int64(900), int64(172800)
	z := &zone{id: zoneID, name: normal(name), private: private}
	soa, ns := set{Name: z.name, Type: "SOA", TTL: &ttl}, set{Name: z.name, Type: "NS", TTL: &day}
	soa.setValues([]string{nameServers[0] + ". awsdns-hostmaster.amazon.com. 1 7200 900 1209600 86400"})
	var servers []string
	for _, s := range nameServers {
		servers = append(servers, s+".")
	}
	ns.setValues(servers)
	z.sets = []set{ns, soa}
	return z
}

var nameServers = []string{"ns-1.awsdns-01.com", "ns-2.awsdns-02.net", "ns-3.awsdns-03.org", "ns-4.awsdns-04.co.uk"}

func (z *zone) index(i id) (int, bool) {
	return slices.BinarySearchFunc(z.sets, i, func(s set, i id) int { return compare(s.id(), i) })
}

func (z *zone) find(i id) *set {
	at, found := z.index(i)
	if !found {
		return nil
	}
	return &z.sets[at]
}

func (z *zone) put(s set) {
	s.Name = normal(s.Name)
	at, found := z.index(s.id())
	if found {
		z.sets[at] = s
		return
	}
	z.sets = slices.Insert(z.sets, at, s)
}

func (z *zone) remove(i id) {
	if at, found := z.index(i); found {
		z.sets = slices.Delete(z.sets, at, at+1)
	}
}

// change is one line of a ChangeBatch.
type change struct {
	Action            string
	ResourceRecordSet set
}

// apply carries a batch out, whole or not at all. Its result are the refusals.
func (z *zone) apply(changes []change) []string {
	after := &zone{id: z.id, name: z.name, sets: slices.Clone(z.sets)}
	refused := sizes(changes)
	seen := map[string]bool{}
	touched := map[string]bool{}
	for _, c := range changes {
		s := c.ResourceRecordSet
		key := fmt.Sprint(c.Action == "DELETE", s.id())
		if seen[key] {
			refused = append(refused, fmt.Sprintf("The request contains an invalid set of changes for a resource record set '%s %s'", s.Type, normal(s.Name)))
			continue
		}
		seen[key] = true
		touched[normal(s.Name)] = true
		if text := after.change(c); text != "" {
			refused = append(refused, text)
		}
	}
	if len(refused) == 0 {
		refused = after.rules(touched)
	}
	if len(refused) == 0 {
		z.sets = after.sets
	}
	return refused
}

// sizes holds a batch against the limits of one request. An UPSERT counts twice.
func sizes(changes []change) []string {
	count, chars := 0, 0
	for _, c := range changes {
		times := 1
		if c.Action == "UPSERT" {
			times = 2
		}
		values := c.ResourceRecordSet.values()
		count += times * max(1, len(values))
		for _, v := range values {
			chars += times * len(v)
		}
	}
	switch {
	case count > 1000:
		return []string{"Number of records limit of 1000 exceeded."}
	case chars > 32000:
		return []string{"Number of characters limit of 32000 exceeded."}
	}
	return nil
}

// named is a set as the refusals name it.
func (s *set) named() string {
	text := fmt.Sprintf("[name='%s', type='%s'", normal(s.Name), s.Type)
	if s.SetIdentifier != nil {
		text += fmt.Sprintf(", set identifier='%s'", *s.SetIdentifier)
	}
	return text + "]"
}

func (z *zone) change(c change) string {
	s := c.ResourceRecordSet
	if name := normal(s.Name); name != z.name && !strings.HasSuffix(name, "."+z.name) {
		return fmt.Sprintf("RRSet with DNS name %s is not permitted in zone %s", name, z.name)
	}
	there := z.find(s.id())
	if c.Action == "DELETE" {
		switch {
		case there == nil:
			return fmt.Sprintf("Tried to delete resource record set %s but it was not found", s.named())
		case !there.equal(&s):
			return fmt.Sprintf("Tried to delete resource record set %s but the values provided do not match the current values", s.named())
		}
		z.remove(s.id())
		return ""
	}
	if text := s.invalid(); text != "" {
		return text
	}
	if c.Action == "CREATE" && there != nil {
		return fmt.Sprintf("Tried to create resource record set %s but it already exists", s.named())
	}
	z.put(s)
	return ""
}

// rules are those for the sets of one name, and for the zone's own.
func (z *zone) rules(names map[string]bool) []string {
	var refused []string
	if z.find(id{z.name, "SOA", ""}) == nil || z.find(id{z.name, "NS", ""}) == nil {
		refused = append(refused, "A HostedZone must contain exactly one SOA record and at least one NS record.")
	}
	byName := map[string][]*set{}
	for i := range z.sets {
		if name := z.sets[i].Name; names[name] {
			byName[name] = append(byName[name], &z.sets[i])
		}
	}
	for name, sets := range byName {
		refused = append(refused, z.together(name, sets)...)
	}
	slices.Sort(refused)
	return refused
}

func (z *zone) together(name string, sets []*set) []string {
	var refused []string
	for _, s := range sets {
		if s.Type == "CNAME" && name == z.name {
			refused = append(refused, fmt.Sprintf("RRSet of type CNAME with DNS name %s is not permitted at apex in zone %s", name, z.name))
		}
		for _, o := range sets {
			switch {
			case s.Type == "CNAME" && o.Type != "CNAME":
				refused = append(refused, fmt.Sprintf("RRSet of type CNAME with DNS name %s is not permitted as it conflicts with other records with the same DNS name in zone %s", name, z.name))
			case s.Type == o.Type && s.SetIdentifier != nil && o.SetIdentifier == nil:
				refused = append(refused, fmt.Sprintf("RRSet with DNS name %s, type %s, SetIdentifier %s cannot be created as other RRSets exist with the same name and type.", name, s.Type, *s.SetIdentifier))
			case s.Type == o.Type && s.SetIdentifier != nil && s.policy()[0] != o.policy()[0]:
				refused = append(refused, fmt.Sprintf("RRSet with DNS name %s, type %s, SetIdentifier %s cannot be created because a non multivalue answer rrset exists with the same name and type.", name, s.Type, *s.SetIdentifier))
			}
		}
	}
	slices.Sort(refused)
	return slices.Compact(refused)
}
