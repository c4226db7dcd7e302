package generic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libdns/libdns"

	"sidestep/pkg/provider"
	"sidestep/pkg/provider/providertest"
	"sidestep/pkg/record"
)

// setup is an adapter over a library with habits, and a zone with records.
func setup(t *testing.T, h habits, known Known, records ...libdns.RR) (*Adapter, *library) {
	t.Helper()
	l := newLibrary(t, &store{records: records}, h)
	return New(provider.Settings{Zone: zoneName}, l, known), l
}

func listed(t *testing.T, a *Adapter) *provider.Snapshot {
	t.Helper()
	s, err := a.List(t.Context())
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return s
}

func pauseOne(s *provider.Snapshot) provider.Call {
	return provider.Call{
		Key: www, Seen: s, Survivors: []string{two},
		Away: []record.Change{{Action: record.Pause, Key: www, Value: one}},
	}
}

func wantClass(t *testing.T, err error, class provider.Class, words ...string) {
	t.Helper()
	if _, typed := errors.AsType[*provider.Error](err); !typed || provider.ClassOf(err) != class {
		t.Fatalf("expected an error of class %v, got %v", class, err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("expected %q in: %v", word, err)
		}
	}
}

func twoAddresses() []libdns.RR {
	return []libdns.RR{rr("www.example.com.", "A", one), rr("www.example.com.", "A", two)}
}

func (l *library) live() []string {
	return (&hand{library: l}).Live(www)
}

// A library that says it did and did not is never followed by a deletion.
func TestSwallowedAppendDeletesNothing(t *testing.T) {
	a, l := setup(t, habits{writing: func(_ string, rr libdns.RR) (libdns.RR, error) {
		rr.TTL = -1
		return rr, nil
	}}, Known{}, twoAddresses()...)
	for range 5 {
		if err := a.TakeAway(t.Context(), pauseOne(listed(t, a))); err != nil {
			t.Fatal(err)
		}
	}
	if slices.ContainsFunc(l.calls, func(c string) bool { return strings.HasPrefix(c, "delete") }) {
		t.Errorf("deleted without a copy: %q", l.calls)
	}
	if got := l.live(); !slices.Equal(got, []string{one, two}) {
		t.Errorf("live: %v", got)
	}
}

// A library that changes texts makes one copy that cannot be read, and no more.
func TestMangledCopyIsPermanent(t *testing.T) {
	a, l := setup(t, habits{writing: func(_ string, rr libdns.RR) (libdns.RR, error) {
		rr.Data = strings.ReplaceAll(rr.Data, " ", "")
		return rr, nil
	}}, Known{}, twoAddresses()...)
	err := a.TakeAway(t.Context(), pauseOne(listed(t, a)))
	wantClass(t, err, provider.Ambiguous, "asked to append")
	err = a.TakeAway(t.Context(), pauseOne(listed(t, a)))
	wantClass(t, err, provider.Permanent, "cannot be read back")
	if len(l.records) != 3 {
		t.Errorf("expected the two addresses and one copy, got %v", l.records)
	}
}

// A library that deletes by name and type alone is found out by what it says,
// and nothing is lost for good.
func TestDeletingAnotherRecordIsTold(t *testing.T) {
	a, l := setup(t, habits{writing: func(op string, rr libdns.RR) (libdns.RR, error) {
		if op == "delete" {
			rr.Data = two
		}
		return rr, nil
	}}, Known{}, twoAddresses()...)
	if err := a.TakeAway(t.Context(), pauseOne(listed(t, a))); err != nil {
		t.Fatal(err)
	}
	wantClass(t, a.TakeAway(t.Context(), pauseOne(listed(t, a))), provider.Ambiguous, "another record")
	if len(l.live()) != 1 {
		t.Errorf("live: %v", l.live())
	}
}

func TestPanicIsAnError(t *testing.T) {
	boom := habits{listing: func([]libdns.RR) []libdns.RR { panic("index out of range") }}
	a, _ := setup(t, boom, Known{})
	_, err := a.List(t.Context())
	wantClass(t, err, provider.Retryable, "panicked", "index out of range")

	a, l := setup(t, habits{writing: func(string, libdns.RR) (libdns.RR, error) { panic("boom") }}, Known{}, twoAddresses()...)
	err = a.TakeAway(t.Context(), pauseOne(listed(t, a)))
	wantClass(t, err, provider.Ambiguous, "panicked", "boom")
	if !slices.Equal(l.live(), []string{one, two}) {
		t.Errorf("live: %v", l.live())
	}
}

// nothing is a record that is none, in an interface.
type nothing struct{ library }

func (nothing) GetRecords(context.Context, string) ([]libdns.Record, error) {
	return []libdns.Record{nil}, nil
}

func TestRecordThatIsNone(t *testing.T) {
	a := New(provider.Settings{Zone: zoneName}, &nothing{}, Known{})
	_, err := a.List(t.Context())
	wantClass(t, err, provider.Retryable, "record 1 of 1 is none")
}

// An empty list is an error where there were records: in this process, or in
// the list just after it.
func TestEmptyListIsAnError(t *testing.T) {
	a, l := setup(t, habits{}, Known{}, twoAddresses()...)
	listed(t, a)
	l.records = nil
	_, err := a.List(t.Context())
	wantClass(t, err, provider.Retryable, "expected the 2 records")

	calls := 0
	a, _ = setup(t, habits{listing: func(rrs []libdns.RR) []libdns.RR {
		if calls++; calls == 1 {
			return nil
		}
		return rrs
	}}, Known{}, twoAddresses()...)
	a.lag = time.Millisecond
	_, err = a.List(t.Context())
	wantClass(t, err, provider.Retryable, "0 records, then 2")
	listed(t, a)
}

// A list that is shorter than the last is believed when it comes back the same,
// and costs nothing when we made it shorter.
func TestShortListIsAskedForAgain(t *testing.T) {
	var hide func(call int) int
	calls := 0
	a, l := setup(t, habits{listing: func(rrs []libdns.RR) []libdns.RR {
		calls++
		n := hide(calls)
		return rrs[n:]
	}}, Known{}, rr("a.example.com.", "A", one), rr("b.example.com.", "A", one), rr("c.example.com.", "A", one), rr("d.example.com.", "A", one))
	hide = func(int) int { return 0 }
	listed(t, a)
	hide = func(call int) int { return call % 2 } // one record is missing in every other list
	if s := listed(t, a); s.Records != 4 {
		t.Errorf("expected the list that is whole, got %d records", s.Records)
	}
	hide = func(call int) int { // each list misses another part
		if call%2 == 0 {
			return 1
		}
		return 2
	}
	calls = 1
	_, err := a.List(t.Context())
	wantClass(t, err, provider.Retryable, "two lists in a row differ: 3 records, then 2, where there were 4")
	hide = func(int) int { return 0 }
	l.records = l.records[1:] // by hand
	before := calls
	if s := listed(t, a); s.Records != 3 || calls != before+2 {
		t.Errorf("expected 3 records after 2 lists, got %d after %d", s.Records, calls-before)
	}
	before = calls
	if listed(t, a); calls != before+1 {
		t.Errorf("expected one list, got %d", calls-before)
	}
}

// A switch costs the caller's lists, one look, and two writes.
func TestCallsOfAPause(t *testing.T) {
	a, l := setup(t, habits{}, Known{}, twoAddresses()...)
	for range 2 {
		if err := a.TakeAway(t.Context(), pauseOne(listed(t, a))); err != nil {
			t.Fatal(err)
		}
	}
	listed(t, a)
	var kinds []string
	for _, call := range l.calls {
		kinds = append(kinds, strings.Fields(call)[0])
	}
	if got, want := strings.Join(kinds, " "), "get append get get delete get"; got != want {
		t.Errorf("got the calls %q, want %q", got, want)
	}
	if got := l.live(); !slices.Equal(got, []string{two}) {
		t.Errorf("live: %v", got)
	}
}

// A library that does not come back is left behind, and no write is begun beside
// one of its own that is still under way.
func TestDeafLibrary(t *testing.T) {
	a, l := setup(t, habits{deaf: true}, Known{}, twoAddresses()...)
	s := listed(t, a)
	l.writes = []providertest.Fault{providertest.HangWrite}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	wantClass(t, a.TakeAway(ctx, pauseOne(s)), provider.Ambiguous, "timeout")
	wantClass(t, a.TakeAway(t.Context(), pauseOne(s)), provider.Retryable, "has not come back", "nothing was sent")
	listed(t, a)
	l.reads = []providertest.Fault{providertest.HangRead, providertest.HangRead}
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := a.List(ctx)
		cancel()
		wantClass(t, err, provider.Retryable, "timeout")
	}
	_, err := a.List(t.Context())
	wantClass(t, err, provider.Retryable, "from 3 calls")
}

// A name that can be read in two ways is written to in neither, and the others
// go on.
func TestNameOfTwoReadings(t *testing.T) {
	odd := func(name string) string {
		if name == "www.example.com." {
			return "WWW.Example.com"
		}
		return strings.TrimSuffix(name, ".example.com.")
	}
	records := append(twoAddresses(), rr("api.example.com.", "A", one))
	a, l := setup(t, habits{absolute: odd}, Known{}, records...)
	s := listed(t, a)
	if len(s.Skipped) != 2 || len(s.Sets) != 1 {
		t.Fatalf("expected one set and two lines, got %v and %q", s.Sets, s.Skipped)
	}
	for _, name := range []record.Name{"www.example.com.", "www.example.com.example.com."} {
		key := record.Key{Zone: zoneName, Name: name, Type: record.A}
		add := provider.Call{Key: key, Seen: s, Add: []record.Change{{Action: record.Create, Key: key, Value: "192.0.2.3", TTL: time.Minute}}}
		wantClass(t, a.Add(t.Context(), add), provider.Permanent, "WWW.Example.com", "rename or remove")
	}
	key := record.Key{Zone: zoneName, Name: "api.example.com.", Type: record.A}
	add := provider.Call{Key: key, Seen: s, Add: []record.Change{{Action: record.Create, Key: key, Value: "192.0.2.3", TTL: time.Minute}}}
	if err := a.Add(t.Context(), add); err != nil {
		t.Error(err)
	}
	if len(l.records) != 4 {
		t.Errorf("expected one record more, got %v", l.records)
	}
}

func TestNamesOfAllSpellings(t *testing.T) {
	for _, row := range []struct{ listed, want string }{
		{"@", "example.com."}, {"", "example.com."}, {"WwW", "www.example.com."}, {"www.example.com.", "www.example.com."},
		{"bücher", "xn--bcher-kva.example.com."}, {"*.Wild", "*.wild.example.com."}, {"notexample.com", "notexample.com.example.com."},
	} {
		a, _ := setup(t, habits{absolute: func(string) string { return row.listed }}, Known{}, rr("x", "A", one))
		s := listed(t, a)
		if len(s.Sets) != 1 || string(s.Sets[0].Key.Name) != row.want {
			t.Errorf("%q: expected %s, got %v, %q", row.listed, row.want, s.Sets, s.Skipped)
		}
	}
	a, _ := setup(t, habits{absolute: func(string) string { return "www.example.net." }}, Known{}, rr("x", "A", one))
	if s := listed(t, a); len(s.Sets) != 0 || len(s.Skipped) != 1 {
		t.Errorf("a name outside the zone: got %v, %q", s.Sets, s.Skipped)
	}
}

// A record that has the zone's default TTL would come back with another one.
func TestRecordWithoutATTLStays(t *testing.T) {
	records := twoAddresses()
	records[0].TTL = 0
	a, l := setup(t, habits{}, Known{}, records...)
	wantClass(t, a.TakeAway(t.Context(), pauseOne(listed(t, a))), provider.Permanent, "TTL of its own")
	if len(l.records) != 2 {
		t.Errorf("expected nothing to be written, got %v", l.records)
	}
}

// The newest copy counts, whatever the order of the list.
func TestNewestCopyCounts(t *testing.T) {
	copyOf := func(ttl, at string) libdns.RR {
		return rr("_sidestep-paused.www.example.com.", "TXT", "v=sidestep1 type=A value="+one+" ttl="+ttl+at)
	}
	a, _ := setup(t, habits{}, Known{}, copyOf("60", " at=20"), copyOf("300", " at=10"), copyOf("900", ""), rr("www.example.com.", "A", two))
	s := listed(t, a)
	got, _ := s.Set(www).Find(one)
	if want := (record.Answer{Value: one, TTL: time.Minute, OwnTTL: true, Weight: 1, Paused: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	add := provider.Call{Key: www, Seen: s, Add: []record.Change{{Action: record.Resume, Key: www, Value: one}}}
	if err := a.Add(t.Context(), add); err != nil {
		t.Fatal(err)
	}
	if got, _ := listed(t, a).Set(www).Find(one); !got.Live || got.TTL != time.Minute {
		t.Errorf("resumed as %+v", got)
	}
}

// A clock that stands still or goes back makes no copy that looks older.
func TestCopiesAreInOrder(t *testing.T) {
	a, l := setup(t, habits{}, Known{}, twoAddresses()...)
	a.now = func() time.Time { return time.Unix(1000, 0) }
	for _, ttl := range []time.Duration{5 * time.Minute, time.Minute, 5 * time.Minute} {
		l.records[0].TTL = ttl
		if err := a.TakeAway(t.Context(), pauseOne(listed(t, a))); err != nil {
			t.Fatal(err)
		}
	}
	var texts []string
	for _, r := range l.records[2:] {
		_, rest, _ := strings.Cut(r.Data, "ttl=")
		texts = append(texts, rest)
	}
	if got, want := strings.Join(texts, ","), "300 at=1000,60 at=1001,300 at=1002"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// An error that a library has typed itself keeps its class, and no error shows
// the address of a request.
func TestErrorsKeepTheirClass(t *testing.T) {
	typed := &provider.Error{Class: provider.Conflict, Op: "append", Err: errors.New("it is there")}
	a, _ := setup(t, habits{writing: func(string, libdns.RR) (libdns.RR, error) { return libdns.RR{}, typed }}, Known{}, twoAddresses()...)
	if err := a.TakeAway(t.Context(), pauseOne(listed(t, a))); !errors.Is(err, typed) || provider.ClassOf(err) != provider.Conflict {
		t.Errorf("got %v", err)
	}
	for _, row := range []struct {
		write, settled bool
		status         int
		want           provider.Class
	}{
		{false, false, 401, provider.Permanent}, {false, false, 429, provider.Retryable}, {false, false, 500, provider.Retryable},
		{true, true, 403, provider.Permanent}, {true, true, 429, provider.Retryable}, {true, true, 500, provider.Ambiguous},
		{true, false, 403, provider.Ambiguous}, {true, false, 429, provider.Ambiguous}, {true, true, 0, provider.Ambiguous},
	} {
		a, _ := setup(t, habits{}, Known{Status: status, Settled: row.settled})
		if err := a.classed(attempt{op: "x", write: row.write}, statusError(row.status)); provider.ClassOf(err) != row.want {
			t.Errorf("%+v: got %v", row, err)
		}
	}
}

// Release takes the copies of live values away, one a call, and leaves those
// that are all there is of a value.
func TestRelease(t *testing.T) {
	parked := func(value, at string) libdns.RR {
		return rr("_sidestep-paused.www.example.com.", "TXT", "v=sidestep1 type=A value="+value+" ttl=300 at="+at)
	}
	a, l := setup(t, habits{}, Known{}, rr("www.example.com.", "A", two), parked(two, "1"), parked(two, "2"), parked(one, "3"))
	s := listed(t, a)
	if got := a.Remains(s); len(got) != 2 {
		t.Fatalf("expected two copies, got %q", got)
	}
	for i, want := range []bool{false, true, true} {
		done, err := a.Release(t.Context(), s, nil)
		if err != nil || done != want {
			t.Fatalf("call %d: done %v, %v", i+1, done, err)
		}
	}
	if len(l.records) != 2 || a.Remains(listed(t, a)) != nil {
		t.Errorf("left: %v", l.records)
	}
}

func TestUnquote(t *testing.T) {
	for _, row := range []struct {
		in, want string
		quoted   bool
	}{
		{`plain`, `plain`, false}, {`"ab" "cd"`, `abcd`, true}, {`"a \"b\" \\ \065\300"`, "a \"b\" \\ A300", true},
		{`"open`, `"open`, false}, {`"a" b`, `"a" b`, false}, {``, ``, false}, {`""`, ``, true},
	} {
		if got, quoted := unquote(row.in); got != row.want || quoted != row.quoted {
			t.Errorf("unquote(%s) = %q, %v; want %q, %v", row.in, got, quoted, row.want, row.quoted)
		}
	}
}

// FuzzList holds a list against whatever a library may give.
func FuzzList(f *testing.F) {
	f.Add("www", "A", "192.0.2.1", int64(60))
	f.Add("_sidestep-paused.www", "TXT", `"v=sidestep1 type=A value=192.0.2.1 ttl=60"`, int64(0))
	f.Add("WWW.example.com", "cname", "\xff", int64(-1))
	f.Fuzz(func(t *testing.T, name, kind, data string, ttl int64) {
		a := New(provider.Settings{Zone: zoneName}, &nothing{}, Known{})
		odd := libdns.RR{Name: name, Type: kind, Data: data, TTL: time.Duration(ttl) * time.Second}
		entries, err := entriesOf([]libdns.Record{odd, rr("www", "A", two)})
		if err != nil {
			t.Fatal(err)
		}
		s := a.snapshot(entries)
		for _, set := range s.Sets {
			if !set.Key.Name.In(zoneName) {
				t.Errorf("a set outside the zone: %v", set)
			}
		}
	})
}

func BenchmarkList100000(b *testing.B) {
	var records []libdns.Record
	for i := range 100_000 {
		records = append(records, rr(fmt.Sprintf("n%d", i), "A", one))
	}
	a := New(provider.Settings{Zone: zoneName}, &nothing{}, Known{})
	b.ReportAllocs()
	for b.Loop() {
		entries, err := entriesOf(records)
		if err != nil {
			b.Fatal(err)
		}
		a.snapshot(entries)
	}
}

// copied is a zone in which the first of some addresses has its copy: the next
// take-away looks and deletes.
func copied(values ...string) []libdns.RR {
	records := []libdns.RR{rr("_sidestep-paused.www.example.com.", "TXT", "v=sidestep1 type=A value="+one+" ttl=300")}
	for _, v := range values {
		records = append(records, rr("www.example.com.", "A", v))
	}
	return records
}

// What an operator did since the list is seen in the look before the deletion.
func TestLookBeforeADeletion(t *testing.T) {
	const three = "192.0.2.3"
	for name, row := range map[string]struct {
		edit      func([]libdns.RR) []libdns.RR
		survivors []string
		words     string
	}{
		"survivor": {func(rrs []libdns.RR) []libdns.RR { return slices.Delete(rrs, 2, 3) }, []string{two}, two + " is no longer live"},
		"ttl":      {func(rrs []libdns.RR) []libdns.RR { rrs[1].TTL = time.Hour; return rrs }, []string{two}, "the TTL of " + one},
		"last":     {func(rrs []libdns.RR) []libdns.RR { return rrs[:2] }, nil, "nothing would be left live"},
		"copy":     {func(rrs []libdns.RR) []libdns.RR { return rrs[1:] }, []string{two}, "the copy of " + one},
	} {
		t.Run(name, func(t *testing.T) {
			a, l := setup(t, habits{}, Known{}, copied(one, two, three)...)
			call := pauseOne(listed(t, a))
			call.Survivors = row.survivors
			l.records = row.edit(slices.Clone(l.records))
			wantClass(t, a.TakeAway(t.Context(), call), provider.Conflict, row.words)
			if !slices.Contains(l.live(), one) {
				t.Error("it was deleted all the same")
			}
		})
	}
}

// Which form a text is written in is seen from the list.
func TestTextsAreWrittenAsTheyAreListed(t *testing.T) {
	for _, quoted := range []bool{false, true} {
		a, l := setup(t, habits{quoted: quoted}, Known{}, append(twoAddresses(), rr("example.com.", "TXT", "v=spf1 -all"))...)
		if err := a.TakeAway(t.Context(), pauseOne(listed(t, a))); err != nil {
			t.Fatal(err)
		}
		if sent := l.calls[len(l.calls)-1]; strings.Contains(sent, `"v=sidestep1`) != quoted {
			t.Errorf("quoted %v: sent %s", quoted, sent)
		}
	}
}
