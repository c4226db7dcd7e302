package cloudflare

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
	"sidestep/providers/cloudflare/cloudflaretest"
)

func TestSettings(t *testing.T) {
	for _, row := range []struct {
		token, finder, id, endpoint string
		insecure                    bool
		wrong                       string
	}{
		{"t", "", "", "", false, ""},
		{"t", "z", strings.Repeat("a0", 16), "http://127.0.0.1:1/client/v4", false, ""},
		{"t", "", "", "http://api.example.net", true, ""},
		{"", "", "", "", false, "api_token"},
		{"a b", "", "", "", false, "api_token"},
		{"t\n", "", "", "", false, "api_token"},
		{"t", "z z", "", "", false, "zone_token"},
		{"t", "", "example.com", "", false, "zone_id"},
		{"t", "", strings.Repeat("A0", 16), "", false, "zone_id"},
		{"t", "", "", "http://api.example.net", false, "https"},
		{"t", "", "", "::", false, "endpoint"},
	} {
		s := provider.Settings{
			Zone: testZone, Insecure: row.insecure, Options: map[string]string{"zone_id": row.id, "endpoint": row.endpoint},
			Secrets: map[string]provider.Secret{"api_token": provider.NewSecret(row.token), "zone_token": provider.NewSecret(row.finder)},
		}
		a, err := New(s)
		switch {
		case row.wrong == "" && (err != nil || a == nil):
			t.Errorf("%+v: expected an adapter, got %v", row, err)
		case row.wrong != "" && (err == nil || a != nil || !strings.Contains(err.Error(), row.wrong) || provider.ClassOf(err) != provider.Permanent):
			t.Errorf("%+v: expected a permanent error about %s, got %v", row, row.wrong, err)
		}
	}
}

func TestPromises(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{})
	p := connect(t, f).Promises()
	if p.Pause != provider.PauseRename || !p.Atomic || p.Together || p.OneByOne || !p.Fenced || !p.Single || p.Weights || p.Variants || p.MinTTL != time.Minute {
		t.Errorf("promises %+v", p)
	}
	s := settings(f)
	s.Late, s.Lag = 3*time.Second, 2*time.Second
	a, err := build(s)
	if err != nil {
		t.Fatal(err)
	}
	if p = a.Promises(); p.Late != 3*time.Second || p.Lag != 2*time.Second {
		t.Errorf("promises %+v", p)
	}
}

// TestOneSwitchIsOneListTwoWritesAndOneList counts the calls of a failover that
// goes on from what the adapter knows of its own writes.
func TestOneSwitchIsOneListTwoWritesAndOneList(t *testing.T) {
	f, n := world(t)
	n.list()
	f.Server.Forget()
	create := provider.Call{
		Key: wwwA, Seen: n.list(), Next: n.next(),
		Add: []record.Change{{Action: record.Create, Key: wwwA, Value: "192.0.2.30", TTL: time.Minute}},
	}
	if err := n.Add(t.Context(), create); err != nil {
		t.Fatal(err)
	}
	seen := n.After(create)
	if seen == nil {
		t.Fatal("the zone after the add is not known")
	}
	if err := n.pause(seen, "192.0.2.10", "192.0.2.30"); err != nil {
		t.Fatal(err)
	}
	if got := n.list().Set(wwwA).Live(); !slices.Equal(got, []string{"192.0.2.20", "192.0.2.30"}) {
		t.Errorf("live: %v", got)
	}
	var got []string
	for _, r := range f.Server.Requests() {
		got = append(got, r.Method)
	}
	if want := []string{"GET", "POST", "POST", "GET"}; !slices.Equal(got, want) {
		t.Errorf("expected the calls %v, got %v", want, got)
	}
	if n.After(create) != nil {
		t.Error("the zone after a write that was not the last one is told")
	}
}

// sameZone compares what two snapshots say, and what their writes would rest on.
func sameZone(a, b *provider.Snapshot) string {
	sorted := cmpopts.SortSlices(func(x, y *entry) bool { return x.ID < y.ID })
	return cmp.Diff(a, b, cmp.AllowUnexported(view{}, entry{}, wire{}), sorted, cmpopts.EquateEmpty())
}

// TestAfterIsWhatAListShows makes writes at random and compares the zone as it is
// known after each with a list of it.
func TestAfterIsWhatAListShows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := cloudflaretest.Start(t, cloudflaretest.Options{Plan: cloudflaretest.Pro})
		n := newNode(t, f).hold()
		hand := f.Hand(t, nil)
		hand.Put(providertest.RR{Name: "alias.example.com.", Type: "CNAME", TTL: time.Minute, Data: "v1.example.net."})
		hand.Put(providertest.RR{Name: "www.example.com.", Type: "A", TTL: time.Minute, Data: "192.0.2.9"})
		seen := n.list()
		for range rapid.IntRange(1, 12).Draw(rt, "writes") {
			call := drawCall(rt, seen, n.next())
			write := n.Add
			if len(call.Away) > 0 {
				write = n.TakeAway
			}
			if err := write(t.Context(), call); err != nil {
				if provider.ClassOf(err) != provider.Conflict {
					rt.Fatalf("%+v: %v", call, err)
				}
				seen = n.list()
				continue
			}
			after, listed := n.After(call), n.list()
			if after == nil {
				rt.Fatalf("%+v: the zone after it is not known", call)
			}
			if diff := sameZone(listed, after); diff != "" {
				rt.Fatalf("%+v\n(-list +after)\n%s", call, diff)
			}
			seen = after
		}
	})
}

func drawCall(t *rapid.T, seen *provider.Snapshot, next provider.Stamp) provider.Call {
	key := rapid.SampledFrom([]record.Key{wwwA, aliasC}).Draw(t, "set")
	value := fmt.Sprintf("192.0.2.%d", rapid.IntRange(1, 3).Draw(t, "value"))
	actions := []record.Action{record.Create, record.Resume, record.Pause, record.SetTTL}
	if key.Type.Single() {
		value = fmt.Sprintf("v%d.example.net.", rapid.IntRange(1, 3).Draw(t, "alias"))
		actions = append(actions, record.Swap)
	}
	c := record.Change{Action: rapid.SampledFrom(actions).Draw(t, "action"), Key: key, Value: value, TTL: 2 * time.Minute}
	call := provider.Call{Key: key, Seen: seen, Next: next, Empty: true}
	live := seen.Set(key).Live()
	if c.Action == record.Swap {
		c.From = append(live, "v9.example.net.")[0]
	}
	if c.Action.Add() {
		call.Add = []record.Change{c}
		return call
	}
	call.Away = []record.Change{c}
	for _, v := range live {
		if v != c.Value && v != c.From {
			call.Survivors = append(call.Survivors, v)
		}
	}
	return call
}

func TestWitnessesGoWithATakeAway(t *testing.T) {
	f, n := world(t)
	ids := map[string]string{}
	for _, r := range f.Records() {
		ids[r.Content] = r.ID
	}
	f.Server.Forget()
	if err := n.pause(n.list(), "192.0.2.10", "192.0.2.20"); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`"patches":[{"id":"%s","name":"_sidestep-paused.www.example.com"},{"id":"%s","name":"www.example.com"}]`, ids["192.0.2.10"], ids["192.0.2.20"])
	if got := bodies(f)[0]; !strings.Contains(got, want) {
		t.Errorf("expected %s in %s", want, got)
	}
	// A survivor that was renamed in the gap comes back.
	n.must(wwwA, nil, record.Change{Action: record.Resume, Value: "192.0.2.10"})
	seen := n.list()
	f.Patch(t, "www.example.com", "A", "192.0.2.20", func(r *cloudflaretest.Record) { r.Name = "moved.example.com" })
	if err := n.pause(seen, "192.0.2.10", "192.0.2.20"); err != nil {
		t.Fatal(err)
	}
	if got := n.list().Set(wwwA).Live(); !slices.Equal(got, []string{"192.0.2.20"}) {
		t.Errorf("live: %v", got)
	}
}

// TestBatchesFitEveryPlan: of very many survivors as many are witnesses as find
// room, and changes alone that find none are refused before anything is sent.
func TestBatchesFitEveryPlan(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{})
	var values []string
	for i := range 240 {
		values = append(values, fmt.Sprintf("192.0.2.%d", i))
		f.Put(t, address(values[i]))
	}
	slices.Sort(values)
	n := newNode(t, f).hold()
	call := provider.Call{Key: wwwA, Seen: n.list(), Next: n.next(), Survivors: values[1:], Away: []record.Change{{Action: record.Pause, Key: wwwA, Value: values[0]}}}
	if err := n.TakeAway(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	call.Seen, call.Next, call.Survivors, call.Away = n.list(), n.next(), values[239:], nil
	for _, v := range values[1:239] {
		call.Away = append(call.Away, record.Change{Action: record.Pause, Key: wwwA, Value: v})
	}
	f.Server.Forget()
	wantClass(t, "238 changes", n.TakeAway(t.Context(), call), provider.Permanent, "200", "fewer values")
	if got := len(f.Server.Requests()); got != 0 {
		t.Errorf("%d requests", got)
	}
}

// TestAsManyChangesAsArePromisedFit: each of them has an equal copy in the way,
// and there are many survivors.
func TestAsManyChangesAsArePromisedFit(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{})
	n := newNode(t, f)
	most := n.Promises().MaxChanges
	call := provider.Call{Key: wwwA}
	for i := range most {
		r := address(fmt.Sprintf("192.0.2.%d", i))
		f.Put(t, r)
		call.Away = append(call.Away, record.Change{Action: record.Pause, Key: wwwA, Value: r.Content})
		r.Name = "_sidestep-paused.www"
		f.Put(t, r)
		r = address(fmt.Sprintf("198.51.100.%d", i))
		f.Put(t, r)
		call.Survivors = append(call.Survivors, r.Content)
	}
	call.Seen, call.Next = n.hold().list(), n.next()
	if err := n.TakeAway(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if live := n.list().Set(wwwA).Live(); len(live) != most {
		t.Errorf("%d live values, expected %d", len(live), most)
	}
}

func TestUnequalCopiesAreForAPerson(t *testing.T) {
	f, n := world(t)
	parked := address("192.0.2.10")
	parked.Name, parked.Comment = "_sidestep-paused.www", "not the same"
	f.Put(t, parked)
	wantClass(t, "pause", n.pause(n.list(), "192.0.2.10", "192.0.2.20"), provider.Permanent, "dashboard", f.Records()[0].ID)
	n.must(wwwA, nil, record.Change{Action: record.Resume, Value: "192.0.2.10"})
	if !strings.Contains(strings.Join(f.Attributes(), "\n"), "not the same") {
		t.Error("the parked record is gone")
	}
	seen := n.list()
	if left := n.Remains(seen); len(left) != 2 || !strings.Contains(left[0], "by hand") {
		t.Errorf("remains %q", left)
	}
	_, err := n.Release(t.Context(), seen, nil)
	wantClass(t, "release", err, provider.Permanent, "dashboard", "release again")
}

func TestReleaseOfManyCopies(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{})
	for i := range 120 {
		r := address(fmt.Sprintf("192.0.2.%d", i))
		f.Put(t, r)
		r.Name = "_sidestep-paused.www"
		f.Put(t, r)
	}
	n := newNode(t, f).hold()
	calls := 0
	for done := false; !done; calls++ {
		var err error
		if done, err = n.Release(t.Context(), n.list(), nil); err != nil || calls > 5 {
			t.Fatal(err)
		}
	}
	if left := n.Remains(n.list()); len(left) > 0 || calls != 2 || len(f.Records()) != 120 {
		t.Errorf("after %d calls: %q, %d records", calls, left, len(f.Records()))
	}
}

func TestEmulatorIsFoundOut(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{Forgiving: true})
	f.Put(t, address("192.0.2.10"))
	f.Put(t, address("192.0.2.20"))
	n := newNode(t, f).hold()
	err := n.Prove(t.Context(), n.list(), n.next(), nil)
	wantClass(t, "prove", err, provider.Permanent, provider.ErrNotFenced.Error())
	if n.Promises().Fenced {
		t.Error("it still promises to be fenced")
	}
	call := provider.Call{Key: wwwA, Seen: n.list(), Survivors: []string{"192.0.2.20"}, Away: []record.Change{{Action: record.Pause, Key: wwwA, Value: "192.0.2.10"}}}
	if err := n.TakeAway(t.Context(), call); err != nil {
		t.Errorf("a write without a stamp: %v", err)
	}
}

func TestRecordQuota(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{Quota: 2})
	f.Put(t, address("192.0.2.10"))
	n := newNode(t, f).hold()
	err := n.write(wwwA, nil, record.Change{Action: record.Create, Value: "192.0.2.20", TTL: time.Minute})
	wantClass(t, "create", err, provider.Permanent, "81045", "plan")
	if n.list().Records != 2 {
		t.Error("a refused batch left something")
	}
}

// TestGenesisThatComesTooLate: it is withdrawn, and the winner keeps the zone.
func TestGenesisThatComesTooLate(t *testing.T) {
	f := cloudflaretest.Start(t, cloudflaretest.Options{})
	first, second := newNode(t, f), newNode(t, f)
	second.seq = 100
	seen := second.list()
	gate := func() error {
		if first.seq == 0 {
			first.hold()
		}
		return nil
	}
	err := second.Claim(t.Context(), seen, second.next(), gate)
	wantClass(t, "the second claim", err, provider.FencedOut, "another node was there first")
	if stamps := first.list().Stamps; len(stamps) != 1 || stamps[0].Nonce != stampOf(1).Nonce {
		t.Errorf("stamps: %v", stamps)
	}
}
