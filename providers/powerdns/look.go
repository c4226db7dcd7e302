package powerdns

import (
	"context"
	"strings"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

// sight is what a write needs of the zone as it is just before: the record set and
// its parked copies whole, and what else stands at the name.
type sight struct {
	builder *builder // of these two sets alone, to compare with what was listed
	key     record.Key
	set     rrset
	parked  rrset
	beside  string // type of another set that is at the name; empty for none
	found   int    // sets under the key: more than one where the database has the name in several spellings
	broken  error
}

// look reads the zone for one record set.
func (a *Adapter) look(ctx context.Context, op string, key record.Key) (*sight, error) {
	var s *sight
	known := a.known()
	h, err := a.read(ctx, op, func() reader {
		s = &sight{builder: newBuilder(a.zone, known), key: key}
		s.set = rrset{Name: string(key.Name), Type: string(key.Type)}
		s.parked = rrset{Name: string(provider.ParkedName(key.Name)), Type: "TXT"}
		return s
	})
	switch {
	case err != nil:
		return nil, err
	case h.copied():
		return nil, a.isCopy(op, h)
	case s.broken != nil:
		return nil, provider.Failf(provider.Permanent, op, "", "the set in the zone cannot be read: %w", s.broken)
	case s.found > 1 || s.found == 1 && s.set.Name != string(key.Name):
		failed := provider.Failf(provider.Permanent, op, "", "the database has the name as %q; PowerDNS writes it in small letters, beside that", s.set.Name)
		failed.Hint = "spell it in small letters in the database: pdnsutil check-zone " + a.zone.Unrooted() + " lists such names"
		return nil, failed
	}
	s.builder.finish(h)
	return s, nil
}

func (s *sight) take(set rrset) {
	name := strings.ToLower(set.Name)
	switch {
	case name == string(s.key.Name) && set.Type == string(s.key.Type):
		s.found++
		s.set = set
	case name == s.parked.Name && set.Type == "TXT":
		s.parked = set
	case name == string(s.key.Name) && len(set.Records) > 0:
		s.beside = set.Type
		return
	default:
		return
	}
	s.builder.take(set)
}

func (s *sight) odd(set rrset, err error) {
	if name := strings.ToLower(set.Name); name == s.parked.Name || name == string(s.key.Name) && set.Type == string(s.key.Type) {
		s.broken = err
	}
}

// unchanged compares the set with what was listed: its values, what each is, and
// the TTL. Without it the PATCH would undo what somebody else did meanwhile.
func (s *sight) unchanged(op string, seen *provider.Snapshot) error {
	now, then := s.builder.snap.Set(s.key).Answers, seen.Set(s.key).Answers
	same := len(now) == len(then)
	for i := 0; same && i < len(now); i++ {
		x, y := now[i], then[i]
		same = x.Value == y.Value && x.TTL == y.TTL && x.Live == y.Live && x.Paused == y.Paused && x.Held == y.Held
	}
	if same {
		return nil
	}
	return &provider.Error{Class: provider.Conflict, Op: op, Err: errChanged}
}
