package route53

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/libdns/libdns"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/vendordata"
	"sidestep/pkg/record"
)

var (
	_ libdns.RecordGetter   = (*Adapter)(nil)
	_ libdns.RecordAppender = (*Adapter)(nil)
	_ libdns.RecordSetter   = (*Adapter)(nil)
	_ libdns.RecordDeleter  = (*Adapter)(nil)
)

var errNoName = errors.New("a record has no name; expected one relative to the zone, or @")

// rewrites is how often a libdns write lists and tries again when the zone
// changed between.
const rewrites = 3

// GetRecords returns the zone's records. Of a set with an identifier its
// attributes are in ProviderData, a types.ResourceRecordSet; an alias has no
// value that libdns could say, and is left out. It is safe for concurrent use.
func (a *Adapter) GetRecords(ctx context.Context, zone string) ([]libdns.Record, error) {
	sets, err := a.libSets(ctx, zone)
	if err != nil {
		return nil, err
	}
	var records []libdns.Record
	for i := range sets {
		records = append(records, a.toLibdns(&sets[i])...)
	}
	return records, nil
}

// AppendRecords adds records, all or nothing. A record that joins others takes
// their TTL, because a set has only one (RFC 2181 section 5.2) and existing
// records must not change.
func (a *Adapter) AppendRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	return a.rewrite(ctx, zone, "append", recs, func(before *rrset, given []rrset) (*rrset, []rrset) {
		after := joined(before, given)
		if before == nil {
			return after, given
		}
		after.TTL = before.TTL
		for i := range given {
			given[i].TTL = before.TTL
		}
		for _, r := range before.ResourceRecords {
			if !hasValue(after, *r.Value) {
				after.ResourceRecords = append(after.ResourceRecords, r)
			}
		}
		return after, given
	})
}

// SetRecords makes the given records the only ones of their sets, all or
// nothing.
func (a *Adapter) SetRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	return a.rewrite(ctx, zone, "set", recs, func(before *rrset, given []rrset) (*rrset, []rrset) {
		after := joined(before, given)
		for i := range given {
			given[i].TTL = after.TTL
		}
		return after, given
	})
}

// DeleteRecords deletes the records that match in name, type, TTL and value, an
// empty field but the name matching all, and returns those that it deleted. A
// record without a name is refused: it could only be meant by mistake.
func (a *Adapter) DeleteRecords(ctx context.Context, zone string, recs []libdns.Record) ([]libdns.Record, error) {
	op := fmt.Sprintf("delete records of zone %s", a.zone)
	if slices.ContainsFunc(recs, func(r libdns.Record) bool { return r.RR().Name == "" }) {
		return nil, provider.Failf(provider.Permanent, op, "", "%w", errNoName)
	}
	var gone []libdns.Record
	err := a.again(ctx, zone, op, func(sets []rrset) (*batch, error) {
		b := new(batch)
		gone = nil
		for i := range sets {
			s := &sets[i]
			if !writable(s) || s.Type == types.RRTypeSoa {
				continue
			}
			after, out := *s, *s
			after.ResourceRecords, out.ResourceRecords = nil, nil
			for _, r := range s.ResourceRecords {
				if slices.ContainsFunc(recs, func(want libdns.Record) bool { return a.matches(s, aws.ToString(r.Value), want.RR()) }) {
					out.ResourceRecords = append(out.ResourceRecords, r)
				} else {
					after.ResourceRecords = append(after.ResourceRecords, r)
				}
			}
			if len(out.ResourceRecords) == 0 {
				continue
			}
			gone = append(gone, a.toLibdns(&out)...)
			b.replace([]rrset{*s}, nil)
			if len(after.ResourceRecords) > 0 {
				b.replace(nil, []rrset{after})
			}
		}
		return b, nil
	})
	return gone, err
}

// rewrite lists, has each set that is named drawn anew from what is there, and
// sends all of them in one batch.
func (a *Adapter) rewrite(ctx context.Context, zone, what string, recs []libdns.Record, draw func(before *rrset, given []rrset) (*rrset, []rrset)) ([]libdns.Record, error) {
	op := fmt.Sprintf("%s records of zone %s", what, a.zone)
	var done []libdns.Record
	err := a.again(ctx, zone, op, func(sets []rrset) (*batch, error) {
		b := new(batch)
		done = nil
		given, err := a.grouped(op, recs)
		if err != nil {
			return nil, err
		}
		for _, group := range given {
			before, err := a.beside(op, sets, &group[0])
			if err != nil {
				return nil, err
			}
			after, written := draw(before, group)
			var old []rrset
			if before != nil {
				old = []rrset{*before}
			}
			if before == nil || !same(before, after) {
				b.replace(old, []rrset{*after})
			}
			for i := range written {
				done = append(done, a.toLibdns(&written[i])...)
			}
		}
		return b, nil
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// again lists and sends what is drawn from the list, until the zone holds still
// between the two.
func (a *Adapter) again(ctx context.Context, zone, op string, draw func([]rrset) (*batch, error)) error {
	for attempt := 1; ; attempt++ {
		sets, err := a.libSets(ctx, zone)
		if err != nil {
			return err
		}
		b, err := draw(sets)
		if err != nil || len(b.changes) == 0 {
			return err
		}
		err = a.send(ctx, op, b, nil)
		if provider.ClassOf(err) != provider.Conflict || attempt == rewrites {
			return err
		}
	}
}

func (a *Adapter) libSets(ctx context.Context, zone string) ([]rrset, error) {
	name, err := record.ParseName(zone)
	if err != nil || name != a.zone {
		return nil, provider.Failf(provider.Permanent, "use zone "+zone, "", "this adapter is bound to zone %s", a.zone)
	}
	hosted, err := a.hostedZone(ctx)
	if err != nil {
		return nil, err
	}
	var all []rrset
	b := newBuilder(a.zone)
	err = a.pages(ctx, a.listOp(), func(sets []rrset, _ bool) bool {
		for _, s := range sets {
			b.add(s)
		}
		all = append(all, sets...)
		return true
	})
	if err != nil {
		return nil, err
	}
	return all, a.whole(ctx, b, aws.ToInt64(hosted.ResourceRecordSetCount))
}

// writable reports whether libdns's vocabulary can say all of a set.
func writable(s *rrset) bool { return s.SetIdentifier == nil && fixed(s) == "" }

// beside finds the set that records would join, and refuses one that could not
// be written back as it is.
func (a *Adapter) beside(op string, sets []rrset, given *rrset) (*rrset, error) {
	want, err := parseName(*given.Name)
	if err != nil {
		return nil, provider.Failf(provider.Permanent, op, "", "%w", err)
	}
	for i := range sets {
		s := &sets[i]
		if name, err := parseName(aws.ToString(s.Name)); err != nil || name != want || s.Type != given.Type {
			continue
		}
		if !writable(s) {
			return nil, provider.Failf(provider.Permanent, op, "", "%s %s is an alias or has an identifier: libdns has no word for it, and it stays as it is", want, s.Type)
		}
		return s, nil
	}
	return nil, nil
}

// grouped reads what a caller wants to write, the records of one set together,
// each as a set of its own.
func (a *Adapter) grouped(op string, recs []libdns.Record) ([][]rrset, error) {
	var groups [][]rrset
	for _, r := range recs {
		s, err := a.fromLibdns(r.RR())
		if err != nil {
			return nil, provider.Failf(provider.Permanent, op, "", "read record %s %s: %w", r.RR().Name, r.RR().Type, err)
		}
		i := slices.IndexFunc(groups, func(g []rrset) bool { return *g[0].Name == *s.Name && g[0].Type == s.Type })
		if i < 0 {
			groups = append(groups, []rrset{s})
			continue
		}
		groups[i] = append(groups[i], s)
	}
	return groups, nil
}

// joined is one set of the values of several, with the first's TTL. What libdns
// has no word for (a health check) it has of the set that was there before.
func joined(before *rrset, given []rrset) *rrset {
	after := given[0]
	if before != nil {
		after = *before
		after.TTL = given[0].TTL
	}
	after.ResourceRecords = nil
	for _, g := range given {
		if !hasValue(&after, *g.ResourceRecords[0].Value) {
			after.ResourceRecords = append(after.ResourceRecords, g.ResourceRecords[0])
		}
	}
	return &after
}

func hasValue(s *rrset, value string) bool {
	return slices.ContainsFunc(s.ResourceRecords, func(r types.ResourceRecord) bool { return *r.Value == value })
}

// matches is libdns's rule for deletions.
func (a *Adapter) matches(s *rrset, value string, want libdns.RR) bool {
	name, err := record.ParseName(libdns.AbsoluteName(want.Name, string(a.zone)))
	have, badName := parseName(aws.ToString(s.Name))
	switch {
	case err != nil || badName != nil || name != have:
		return false
	case want.Type != "" && !strings.EqualFold(want.Type, string(s.Type)):
		return false
	case want.TTL != 0 && int64(want.TTL/time.Second) != aws.ToInt64(s.TTL):
		return false
	case want.Data == "":
		return true
	case s.Type == types.RRTypeTxt:
		text, err := parseText(value)
		return err == nil && text == want.Data
	}
	return value == a.dataOf(s.Type, want.Data)
}

func (a *Adapter) fromLibdns(r libdns.RR) (rrset, error) {
	name, err := record.ParseName(libdns.AbsoluteName(r.Name, string(a.zone)))
	switch {
	case r.Name == "":
		return rrset{}, errNoName
	case err != nil:
		return rrset{}, err
	case r.Data == "" && r.Type != "TXT":
		return rrset{}, fmt.Errorf("no value")
	case r.TTL < 0 || r.TTL > maxTTL*time.Second:
		return rrset{}, fmt.Errorf("a TTL of %v; expected 0 to %d seconds", r.TTL, maxTTL)
	}
	ttl := int64(r.TTL / time.Second)
	if r.TTL == 0 {
		ttl = defaultTTL
	}
	s := rrset{Name: aws.String(string(name)), Type: types.RRType(strings.ToUpper(r.Type)), TTL: &ttl}
	s.ResourceRecords = []types.ResourceRecord{{Value: aws.String(a.dataOf(s.Type, r.Data))}}
	return s, nil
}

// dataOf is a value as Route 53 keeps it.
func (a *Adapter) dataOf(t types.RRType, data string) string {
	if t == types.RRTypeTxt {
		return formatText(data)
	}
	if value, err := record.ParseValue(record.Type(t), data); err == nil {
		return value
	}
	return data
}

// toLibdns is a set in libdns's vocabulary, a record for each value. One that
// libdns cannot parse stays opaque rather than lost.
func (a *Adapter) toLibdns(s *rrset) []libdns.Record {
	name, err := parseName(aws.ToString(s.Name))
	if err != nil || fixed(s) != "" {
		return nil
	}
	var records []libdns.Record
	for _, r := range s.ResourceRecords {
		rr := libdns.RR{Name: name.Relative(a.zone), TTL: seconds(s.TTL), Type: string(s.Type), Data: aws.ToString(r.Value)}
		if rr.TTL == 0 {
			rr.TTL = time.Nanosecond // a TTL of 0 itself: libdns reads plain 0 as unset
		}
		if s.Type == types.RRTypeTxt {
			text, err := parseText(rr.Data)
			if err != nil {
				continue
			}
			rr.Data = text
		}
		parsed, err := rr.Parse()
		if err != nil {
			parsed = rr
		}
		records = append(records, vendordata.Put(parsed, *s))
	}
	return records
}
