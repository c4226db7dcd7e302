package cloudflare

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libdns/libdns"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/providers/cloudflare/cloudflaretest"
)

// clean takes everything out again that the test put in.
func (n *node) clean(key record.Key) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var gone []libdns.Record
	for _, name := range []record.Name{key.Name, provider.ParkedName(key.Name)} {
		gone = append(gone, libdns.RR{Name: name.Relative(n.zone)})
	}
	if _, err := n.DeleteRecords(ctx, string(n.zone), gone); err != nil {
		n.t.Errorf("clean up %s by hand: %v", key.Name, err)
	}
	for done := false; !done; {
		seen, err := n.List(ctx)
		if err == nil {
			done, err = n.Release(ctx, seen, nil)
		}
		if err != nil {
			n.t.Errorf("release the zone by hand: %v", err)
			return
		}
	}
}

// TestWalk takes the walk of the live test at the fake.
func TestWalk(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{})
	f.Put(t, address("192.0.2.10"))
	before := f.Attributes()
	t.Run("walk", func(t *testing.T) { walk(newNode(t, f)) })
	if after := f.Attributes(); !slices.Equal(before, after) {
		t.Errorf("the walk leaves %v", after)
	}
}

// walk shows at the real API what the fake takes for true: a batch by ids with
// the stamp in it, the same id and attributes after a rename, refusals with the
// codes that are expected, and a list that shows the last write.
func walk(n *node) {
	t := n.t
	t.Helper()
	lines, err := n.Inspect(t.Context())
	t.Log(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	key := record.Key{Zone: n.zone, Name: n.zone.Below("sidestep-live"), Type: record.A}
	if first := n.list(); len(first.Stamps) > 0 || len(first.Set(key).Answers) > 0 {
		t.Fatalf("the zone has the stamps %v and the values %v: take another one, which no sidestep writes", first.Stamps, first.Set(key).Answers)
	}
	t.Cleanup(func() { n.clean(key) })
	n.hold()
	if err := n.Prove(t.Context(), n.list(), n.next(), nil); err != nil {
		t.Fatalf("the fence is not proved: %v", err)
	}
	for _, value := range []string{"192.0.2.1", "192.0.2.2"} {
		n.must(key, nil, record.Change{Action: record.Create, Value: value, TTL: 2 * time.Minute})
	}
	before, stale := n.records(key), n.list()
	n.must(key, []string{"192.0.2.2"}, record.Change{Action: record.Pause, Value: "192.0.2.1"})
	if a, found := n.list().Set(key).Find("192.0.2.1"); !found || a.Live || !a.Paused {
		t.Errorf("the list after a pause: %+v", a)
	}
	late := provider.Call{Key: key, Seen: stale, Next: n.next(), Survivors: []string{"192.0.2.1"}, Away: []record.Change{{Action: record.Pause, Key: key, Value: "192.0.2.2"}}}
	wantClass(t, "a write from an old list", n.TakeAway(t.Context(), late), provider.FencedOut)
	n.must(key, nil, record.Change{Action: record.Resume, Value: "192.0.2.1"})
	if after := n.records(key); !slices.Equal(before, after) {
		t.Errorf("before\n%v\nafter\n%v", before, after)
	}
}

// records are those of a set as the list has them, ids included.
func (n *node) records(key record.Key) []wire {
	n.t.Helper()
	v, ok := n.list().Native.(*view)
	if !ok {
		n.t.Fatal("a list without a view")
	}
	var list []wire
	for _, e := range v.live(key) {
		list = append(list, e.wire)
	}
	slices.SortFunc(list, func(a, b wire) int { return strings.Compare(a.ID, b.ID) })
	return list
}
