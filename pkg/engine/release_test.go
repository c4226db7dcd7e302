package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/plan"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

func releaseZone(sets ...record.Set) plan.Zone {
	record.SortSets(sets)
	return plan.Zone{Name: "example.com.", Sets: sets}
}

func releaseSet(name string, kind record.Type, answers ...record.Answer) record.Set {
	return record.Set{Key: record.Key{Zone: "example.com.", Name: record.Name(name + ".example.com."), Type: kind}, Answers: answers}
}

func TestReleaseBringsBackWhatSidestepPaused(t *testing.T) {
	live := func(v string) record.Answer { return record.Answer{Value: v, TTL: time.Minute, Weight: 3, Live: true} }
	paused := func(v string) record.Answer {
		return record.Answer{Value: v, TTL: time.Minute, Weight: 5, Paused: true}
	}
	named := []*steer.Spec{
		{Key: releaseSet("www", record.A).Key, Answers: []steer.Answer{{Value: "192.0.2.1"}}, Fallback: []string{"192.0.2.2"}},
		{Key: releaseSet("www", record.CNAME).Key, Answers: []steer.Answer{{Value: "a.example.net."}, {Value: "b.example.net."}}},
	}
	held := func(v string) record.Answer { return record.Answer{Value: v, TTL: time.Minute, Held: true} }
	for _, c := range []struct {
		name  string
		set   record.Set
		want  []string // actions and values
		stays string   // what the reason of the value that stays says; empty for none
	}{
		{"beside a live one", releaseSet("www", record.A, live("192.0.2.1"), paused("192.0.2.2")), []string{"resume 192.0.2.2"}, ""},
		{"all of them", releaseSet("www", record.A, paused("192.0.2.1"), paused("192.0.2.2")), []string{"resume 192.0.2.1", "resume 192.0.2.2"}, ""},
		{"never what somebody else paused", releaseSet("www", record.A, held("192.0.2.1"), live("192.0.2.2")), nil, "somebody else paused it"},
		{"nor beside ours", releaseSet("www", record.A, held("192.0.2.1"), paused("192.0.2.2")), []string{"resume 192.0.2.2"}, "somebody else paused it"},
		{"nothing to do", releaseSet("www", record.A, live("192.0.2.1"), live("192.0.2.2")), nil, ""},
		{"never a value that the config does not name", releaseSet("www", record.A, live("192.0.2.1"), paused("198.51.100.66")), nil, "the config does not name it"},
		{"nor a set", releaseSet("other", record.A, paused("192.0.2.1")), nil, "the config does not name it"},
		{"nor in place of one", releaseSet("www", record.CNAME, paused("c.example.net.")), nil, "the config does not name it"},
		{"a name that was emptied", releaseSet("www", record.CNAME, paused("a.example.net.")), []string{"resume a.example.net."}, ""},
		{"a name that was switched", releaseSet("www", record.CNAME, paused("a.example.net."), live("b.example.net.")), nil, "answers with b.example.net."},
		{"a name with two memories", releaseSet("www", record.CNAME, paused("a.example.net."), paused("b.example.net.")), nil, "put the one that is meant in"},
	} {
		t.Run(c.name, func(t *testing.T) {
			zone := releaseZone(c.set)
			zone.Owners = map[record.Name]string{c.set.Key.Name: "external-dns/x"} // what is paused there is ours all the same
			zone.Delegations = []record.Name{c.set.Key.Name}
			work, stays := ReleaseWork(zone, named)
			p := work.Plan(zone)
			var got []string
			for _, change := range p.Changes() {
				got = append(got, string(change.Action)+" "+change.Value)
				if change.TTL != 0 || change.Weight != 0 || change.Guard != "" {
					t.Errorf("%+v: a release sets neither TTL nor weight, and no guard stops it", change)
				}
			}
			if !slices.Equal(got, c.want) || len(p.Blocked) > 0 {
				t.Errorf("plan %v, blocked %v; want %v", got, p.Blocked, c.want)
			}
			if len(stays) > 0 != (c.stays != "") || len(stays) > 0 && !strings.Contains(stays[0].Why, c.stays) {
				t.Errorf("stays %+v, want %q", stays, c.stays)
			}
		})
	}
}
