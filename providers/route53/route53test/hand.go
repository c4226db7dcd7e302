package route53test

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/httpapi/httpfake"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
)

// Hand reaches the zone past the API, as an operator does in the console. another
// makes a further adapter to it.
func (f *Fake) Hand(another func() provider.Adapter) *Hand { return &Hand{f, another} }

// Hand is a providertest.Hand and Faulty.
type Hand struct {
	fake    *Fake
	another func() provider.Adapter
}

// Another is a further adapter.
func (h *Hand) Another() provider.Adapter { return h.another() }

// Live lists what resolvers are answered with, wildcards and empty names in
// between included (RFC 4592).
func (h *Hand) Live(key record.Key) []string {
	h.fake.mu.Lock()
	defer h.fake.mu.Unlock()
	z := h.fake.zones[0]
	name := normal(string(key.Name))
	if z.exists(name) {
		return z.answers(name, key.Type)
	}
	for {
		_, parent, found := strings.Cut(name, ".")
		if !found || parent == "" {
			return nil
		}
		if z.exists(parent) {
			return z.answers(`\052.`+parent, key.Type)
		}
		name = parent
	}
}

// exists reports whether there is something at a name or below it.
func (z *zone) exists(name string) bool {
	return slices.ContainsFunc(z.sets, func(s set) bool { return s.Name == name || strings.HasSuffix(s.Name, "."+name) })
}

// answers are the values of all sets that can answer: of weighted ones those
// with a weight, unless none has any.
func (z *zone) answers(name string, kind record.Type) []string {
	heavy := slices.ContainsFunc(z.sets, func(s set) bool { return s.Name == name && s.Type == string(kind) && number(s.Weight) > 0 })
	var values []string
	for _, s := range z.sets {
		if s.Name != name || s.Type != string(kind) || heavy && s.Weight != nil && *s.Weight == 0 {
			continue
		}
		for _, v := range s.values() {
			if value, err := record.ParseValue(kind, v); err == nil {
				values = append(values, value)
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// Put adds a record. The whole set takes its TTL.
func (h *Hand) Put(rr providertest.RR) {
	h.fake.mu.Lock()
	defer h.fake.mu.Unlock()
	z := h.fake.zones[0]
	ttl := int64(rr.TTL / time.Second)
	s := set{Name: rr.Name, Type: rr.Type, TTL: &ttl}
	value := data(rr)
	if addr, err := netip.ParseAddr(value); h.fake.options.Weighted && err == nil {
		one, id := int64(1), addr.String()
		s.Weight, s.SetIdentifier = &one, &id
	}
	values := []string{value}
	if there := z.find(s.id()); there != nil {
		values = there.values()
		if !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	s.setValues(values)
	if text := s.invalid(); text != "" {
		h.fake.tb.Fatalf("put %v by hand: %s", rr, text)
	}
	z.put(s)
	h.fake.history = append(h.fake.history, "by hand put "+rr.String())
}

// PutSet puts a set as the wire has it, with whatever attributes: the content
// of a ResourceRecordSet element.
func (h *Hand) PutSet(content string) {
	h.fake.mu.Lock()
	defer h.fake.mu.Unlock()
	body := fmt.Sprintf(`<ChangeResourceRecordSetsRequest xmlns=%q><ChangeBatch><Changes><Change><Action>UPSERT</Action><ResourceRecordSet>%s</ResourceRecordSet></Change></Changes></ChangeBatch></ChangeResourceRecordSetsRequest>`, namespace, content)
	request, err := decode([]byte(body))
	if err != nil {
		h.fake.tb.Fatalf("put by hand: %s: %v", content, err)
		return
	}
	if refused := h.fake.zones[0].apply(request.ChangeBatch.Changes.Change); len(refused) > 0 {
		h.fake.tb.Fatalf("put by hand: %s: %s", content, refused)
	}
	h.fake.history = append(h.fake.history, "by hand put "+request.ChangeBatch.Changes.Change[0].ResourceRecordSet.line())
}

// Remove deletes a record from whatever set of its name and type has it.
func (h *Hand) Remove(rr providertest.RR) {
	h.fake.mu.Lock()
	defer h.fake.mu.Unlock()
	z := h.fake.zones[0]
	for _, s := range slices.Clone(z.sets) {
		if s.Name != normal(rr.Name) || s.Type != rr.Type {
			continue
		}
		left := slices.DeleteFunc(s.values(), func(v string) bool { return v == rr.Data || v == data(rr) })
		if len(left) == len(s.values()) {
			continue
		}
		z.remove(s.id())
		if len(left) > 0 {
			s.setValues(left)
			z.put(s)
		}
	}
	h.fake.history = append(h.fake.history, "by hand remove "+rr.String())
}

// Dump lists every record.
func (h *Hand) Dump() []providertest.RR {
	h.fake.mu.Lock()
	defer h.fake.mu.Unlock()
	var rrs []providertest.RR
	for _, s := range h.fake.zones[0].sets {
		for _, v := range s.values() {
			rrs = append(rrs, providertest.RR{Name: plain(s.Name), Type: s.Type, TTL: time.Duration(number(s.TTL)) * time.Second, Data: v})
		}
		if s.AliasTarget != nil {
			rrs = append(rrs, providertest.RR{Name: plain(s.Name), Type: s.Type, Data: "alias " + s.AliasTarget.DNSName})
		}
	}
	return rrs
}

// data is a value as Route 53 writes it: its escapes are octal where those of a
// zone file are decimal.
func data(rr providertest.RR) string {
	if rr.Type != "TXT" {
		return rr.Data
	}
	var b strings.Builder
	for i := 0; i < len(rr.Data); i++ {
		if rr.Data[i] != '\\' || i+1 == len(rr.Data) {
			b.WriteByte(rr.Data[i])
			continue
		}
		if n, err := strconv.Atoi(rr.Data[i+1 : min(i+4, len(rr.Data))]); err == nil && i+4 <= len(rr.Data) {
			fmt.Fprintf(&b, `\%03o`, n)
			i += 3
			continue
		}
		b.WriteString(rr.Data[i : i+2])
		i++
	}
	return b.String()
}

// Fault arms what goes wrong with the next request of its kind.
func (h *Hand) Fault(fault providertest.Fault) bool {
	s := h.fake.Server
	switch fault {
	case providertest.ThrottledRead:
		s.Arm(Reads, 0, Refuse(400, "Throttling", "Rate exceeded"))
	case providertest.ThrottledWrite:
		s.Arm(Writes, 0, Refuse(400, "Throttling", "Rate exceeded"))
	case providertest.CutList:
		h.fake.CutNext()
	case providertest.EmptyList:
		s.Arm(Reads, 0, httpfake.Fault{Status: 200, Body: fmt.Sprintf(`<ListResourceRecordSetsResponse xmlns=%q><ResourceRecordSets></ResourceRecordSets><IsTruncated>false</IsTruncated><MaxItems>300</MaxItems></ListResourceRecordSetsResponse>`, namespace)})
	case providertest.HangRead:
		s.Arm(Reads, 0, httpfake.Fault{Hang: true})
	case providertest.HangWrite:
		s.Arm(Writes, 0, httpfake.Fault{Hang: true})
	case providertest.RefusedRead:
		s.Arm(Reads, 0, Refuse(403, "AccessDenied", "User: arn:aws:iam::123456789012:user/x is not authorized to perform: route53:ListResourceRecordSets"))
	case providertest.RefusedWrite:
		s.Arm(Writes, 0, Refuse(403, "AccessDenied", "User: arn:aws:iam::123456789012:user/x is not authorized to perform: route53:ChangeResourceRecordSets"))
	case providertest.LostReply:
		s.Arm(Writes, 0, httpfake.Fault{Apply: true, Drop: true})
	case providertest.LostRequest:
		s.Arm(Writes, 0, httpfake.Fault{Drop: true})
	default:
		return false
	}
	return true
}
