package reconcile

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// The promises of four kinds of providers, with ten seconds of lateness and two
// of lag where nothing is fenced.
var (
	fenced = provider.Promises{Atomic: true, Fenced: true}
	exact  = provider.Promises{Atomic: true, Fenced: true, Together: true, Whole: true}
	flags  = provider.Promises{OneByOne: true, Late: 10 * time.Second, Lag: 2 * time.Second}
	whole  = provider.Promises{Together: true, Whole: true, Late: 10 * time.Second, Lag: 2 * time.Second}
	small  = provider.Promises{Atomic: true, Fenced: true, MaxChanges: 1}
	pair   = provider.Promises{Atomic: true, Fenced: true, Together: true, Whole: true, MaxChanges: 2}
)

// now is the boot time at which steps are derived; begun, long before, is when
// the leadership began.
const (
	begun = time.Hour
	now   = 2 * time.Hour
)

// nextCase derives a step from a set of which some values are wanted and some
// live.
type nextCase struct {
	name     string
	promises provider.Promises
	wanted   string // live, of "a b c"
	live     string // in the list
	paused   string // in the list; the rest is missing
	minLive  int
	empty    bool
	ttl      bool              // the live values have another TTL than the config
	single   bool              // a CNAME
	happened func(d *doubts)   // before now
	add      string            // what is sent, by value
	away     string            //
	survive  string            //
	wait     time.Duration     // until when nothing is sent, from now
	why      string            // in its reason
	check    func(s *plan.Set) // more of the set
}

func TestNextStep(t *testing.T) {
	a, b, c := values[0], values[1], values[2]
	pause := func(value string) []plan.Change {
		return []plan.Change{{Change: record.Change{Action: record.Pause, Key: www, Value: value}}}
	}
	create := func(value string) []plan.Change {
		return []plan.Change{{Change: record.Change{Action: record.Create, Key: www, Value: value}}}
	}
	for _, row := range []nextCase{
		{name: "in sync", promises: fenced, wanted: "a", live: "a"},

		// Rule 2: add before take away, and away only beside every wanted value.
		{name: "add goes first", promises: fenced, wanted: "b", live: "a", paused: "b", add: "b"},
		{name: "all adds go in one call", promises: fenced, wanted: "b c", live: "a", paused: "b", add: "c b"},
		{name: "adds go one by one", promises: flags, wanted: "b c", live: "a", paused: "b c", add: "b"},
		{name: "a wanted value is missing, so nothing goes", promises: flags, wanted: "b c", live: "a b", paused: "c", add: "c"},
		{name: "then the take-away", promises: fenced, wanted: "b", live: "a b", away: "a", survive: "b"},
		{name: "take-aways go in one call", promises: fenced, wanted: "c", live: "a b c", away: "a b", survive: "c"},
		{name: "take-aways go one by one", promises: flags, wanted: "c", live: "a b c", away: "a", survive: "c"},
		{name: "both in one call where they take effect at one moment", promises: exact, wanted: "b", live: "a", paused: "b", add: "b", away: "a"},
		{name: "and with survivors", promises: exact, wanted: "b c", live: "a c", paused: "b", add: "b", away: "a", survive: "c"},
		{name: "the survivors are named in order", promises: exact, wanted: "b c", live: "a c b", away: "a", survive: "b c"},

		// A call takes so many changes and no more.
		{name: "adds that do not fit in one call", promises: small, wanted: "b c", live: "a", paused: "b", add: "c"},
		{name: "take-aways that do not, beside all survivors", promises: small, wanted: "b c", live: "a b c", away: "a", survive: "b c"},
		{name: "and beside the one that there is", promises: small, wanted: "c", live: "a b c", away: "a", survive: "c"},
		{name: "both fit", promises: pair, wanted: "b", live: "a", paused: "b", add: "b", away: "a"},
		{name: "adds come first where both do not", promises: pair, wanted: "b c", live: "a", paused: "b c", add: "b c"},

		// Rule 3: what an open call may still take away is no survivor.
		{name: "the only survivor is doubtful", promises: flags, wanted: "b", live: "a b",
			happened: func(d *doubts) { d.ambiguous(now-4*time.Second, pause(b)) }, wait: 8 * time.Second, why: "may still change " + b},
		{name: "until quiet", promises: flags, wanted: "b", live: "a b",
			happened: func(d *doubts) { d.ambiguous(now-12*time.Second, pause(b)) }, away: "a", survive: "b"},
		{name: "another survivor is not", promises: flags, wanted: "b c", live: "a b c",
			happened: func(d *doubts) { d.ambiguous(now-4*time.Second, pause(b)) }, away: "a", survive: "c"},
		{name: "min_live needs two of them", promises: flags, wanted: "b c", live: "a b c", minLive: 2,
			happened: func(d *doubts) { d.ambiguous(now-4*time.Second, pause(b)) }, wait: 8 * time.Second, why: "may still change " + b},
		{name: "and has two", promises: flags, wanted: "b c", live: "a b c", minLive: 2, away: "a", survive: "b c"},
		{name: "min_live above what is wanted asks for all that is", promises: flags, wanted: "b", live: "a b", minLive: 3, away: "a", survive: "b"},
		{name: "the doubt of another set delays nothing", promises: flags, wanted: "b", live: "a b",
			happened: func(d *doubts) {
				other := pause(b)
				other[0].Key.Name = "other.example.com."
				d.ambiguous(now-time.Second, other)
			}, away: "a", survive: "b"},
		{name: "adds wait for no doubt", promises: flags, wanted: "b", live: "a", paused: "b",
			happened: func(d *doubts) { d.ambiguous(now-time.Second, pause(b)) }, add: "b"},
		{name: "a create waits for one like it", promises: flags, wanted: "b", live: "a",
			happened: func(d *doubts) { d.ambiguous(now-4*time.Second, create(b)) }, wait: 8 * time.Second, why: "double"},
		{name: "and lets others go before it", promises: flags, wanted: "b c", live: "a", paused: "c",
			happened: func(d *doubts) { d.ambiguous(now-4*time.Second, create(b)) }, add: "c"},
		{name: "a create waits for any open call where sets are written whole", promises: whole, wanted: "b", live: "a",
			happened: func(d *doubts) { d.ambiguous(now-4*time.Second, pause(c)) }, wait: 8 * time.Second, why: "lose"},
		{name: "a resume does not", promises: whole, wanted: "b", live: "a", paused: "b",
			happened: func(d *doubts) { d.ambiguous(now-4*time.Second, pause(c)) }, add: "b", away: "a"},
		{name: "after a start it goes without the take-away", promises: whole, wanted: "b", live: "a", paused: "b",
			happened: func(d *doubts) { d.doubtAll(now) }, add: "b"},
		{name: "also of an empty set that is meant nothing is held back", promises: whole, empty: true, live: "a b", away: "a b",
			happened: func(d *doubts) { d.doubtAll(now) }},

		// Rule 4: after a start everything is doubtful, but not where it is fenced.
		{name: "after a start nothing is taken away", promises: flags, wanted: "b", live: "a b",
			happened: func(d *doubts) { d.begin(now-2*time.Second, false, 0) }, wait: 10 * time.Second, why: startWords},
		{name: "adds go at once", promises: flags, wanted: "b", live: "a", paused: "b",
			happened: func(d *doubts) { d.begin(now, false, 0) }, add: "b"},
		{name: "unless the notes say that nothing is open", promises: flags, wanted: "b", live: "a b",
			happened: func(d *doubts) { d.begin(now-2*time.Second, true, 0) }, away: "a", survive: "b"},
		{name: "and even then the list may be too old", promises: flags, wanted: "b", live: "a b",
			happened: func(d *doubts) { d.begin(now-time.Second, true, 0) }, wait: time.Second, why: "list"},
		{name: "open calls of this process stay in doubt", promises: flags, wanted: "b", live: "a b",
			happened: func(d *doubts) {
				d.ambiguous(now-4*time.Second, pause(b))
				d.begin(now-3*time.Second, true, 0)
			}, wait: 8 * time.Second, why: "may still change " + b},
		{name: "the stamp is ours", promises: flags, wanted: "b", live: "a b",
			happened: func(d *doubts) { d.doubtAll(now); d.clear() }, away: "a", survive: "b"},

		// Rule 5: a list inside the lag is no ground.
		{name: "the last write to the set may be missing", promises: flags, wanted: "b", live: "a b",
			happened: func(d *doubts) { d.wrote(now-time.Second, pause(c)) }, wait: time.Second, why: "list"},
		{name: "an add that was sent is not sent again", promises: flags, wanted: "b", live: "a", paused: "b",
			happened: func(d *doubts) { d.wrote(now-time.Second, create(b)) }, wait: time.Second, why: "list"},
		{name: "another is", promises: flags, wanted: "b c", live: "a", paused: "b c",
			happened: func(d *doubts) { d.wrote(now-time.Second, create(b)) }, add: "c"},
		{name: "where sets are written whole nothing is", promises: whole, wanted: "b c", live: "a", paused: "b c",
			happened: func(d *doubts) { d.wrote(now-time.Second, create(b)) }, wait: time.Second, why: "list"},
		{name: "adds go without the take-away that has to wait", promises: provider.Promises{Together: true, Lag: 2 * time.Second}, wanted: "b", live: "a", paused: "b",
			happened: func(d *doubts) { d.wrote(now-time.Second, pause(c)) }, add: "b"},
		{name: "the stamp may be missing too", promises: provider.Promises{Fenced: true, Lag: 2 * time.Second}, wanted: "b", live: "a", paused: "b",
			happened: func(d *doubts) { d.wrote(now-time.Second, pause(c)) }, wait: time.Second, why: "stamp"},

		// Where nobody has to survive.
		{name: "an empty set is meant", promises: flags, empty: true, live: "a b", away: "a",
			happened: func(d *doubts) { d.doubtAll(now) }},
		{name: "a TTL leaves as many as there were", promises: flags, wanted: "a", live: "a", ttl: true, away: "a", survive: "",
			happened: func(d *doubts) { d.doubtAll(now) }},
		{name: "a TTL that may be refused holds up no take-away", promises: fenced, wanted: "b", live: "a b", ttl: true, away: "a", survive: "b"},
		{name: "a set that is written whole has one", promises: exact, wanted: "b", live: "a b", ttl: true, away: "a b", survive: "b"},
		{name: "a swap too", promises: fenced, single: true, wanted: "b", live: "a", away: "b"},
		{name: "but an open call could write over it", promises: flags, single: true, wanted: "b", live: "a",
			happened: func(d *doubts) { d.doubtAll(now) }, wait: 12 * time.Second, why: "write over"},
		{name: "two values of which one can be are made one", promises: flags, single: true, wanted: "b", live: "a b", away: "a", survive: "b"},

		{name: "what a guard stops is not sent", promises: fenced, wanted: "b", live: "a b", check: func(s *plan.Set) {
			for i := range s.Changes {
				s.Changes[i].Guard = plan.GuardAdopt
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) { row.run(t, a, b, c) })
	}
}

func (row nextCase) run(t *testing.T, a, b, c string) {
	named := map[string]string{"a": a, "b": b, "c": c}
	full := func(names string) (list []string) {
		for name := range strings.FieldsSeq(names) {
			list = append(list, named[name])
		}
		return list
	}
	key := www
	if row.single {
		key.Type = record.CNAME
	}
	seen := record.Set{Key: key}
	for _, value := range full(row.live) {
		ttl := time.Minute
		if row.ttl {
			ttl = time.Hour
		}
		seen.Answers = append(seen.Answers, record.Answer{Value: value, Live: true, TTL: ttl})
	}
	for _, value := range full(row.paused) {
		seen.Answers = append(seen.Answers, record.Answer{Value: value, Paused: true, TTL: time.Minute})
	}
	seen.Sort()
	spec := &steer.Spec{Key: key, MinLive: max(row.minLive, 1), TTL: time.Minute}
	wanted := steer.Wanted{Spec: spec, Live: full(row.wanted), Empty: row.empty}
	for _, value := range []string{a, b, c} {
		spec.Answers = append(spec.Answers, steer.Answer{Value: value})
		if !slices.Contains(wanted.Live, value) {
			wanted.Paused = append(wanted.Paused, value)
		}
	}
	set := plan.Diff([]steer.Wanted{wanted}, plan.Zone{Name: zoneName, Sets: []record.Set{seen}}).Sets[0]
	if row.check != nil {
		row.check(&set)
	}
	d := newDoubts(begun, row.promises)
	if row.happened != nil {
		row.happened(d)
	}
	row.compare(t, footing{promises: row.promises, doubt: d, now: now}.next(set), full)
}

func (row nextCase) compare(t *testing.T, got step, full func(string) []string) {
	of := func(changes []plan.Change) (list []string) {
		for _, c := range changes {
			list = append(list, c.Value)
		}
		return list
	}
	if !slices.Equal(of(got.add), full(row.add)) || !slices.Equal(of(got.away), full(row.away)) {
		t.Errorf("sends +%v -%v, want +%v -%v", of(got.add), of(got.away), full(row.add), full(row.away))
	}
	if !slices.Equal(got.survivors, full(row.survive)) {
		t.Errorf("survivors are %v, want %v", got.survivors, full(row.survive))
	}
	wait := time.Duration(0)
	if got.wait > 0 {
		wait = got.wait - now
	}
	if wait != row.wait || !strings.Contains(got.why, row.why) {
		t.Errorf("waits %s (%s), want %s (%s)", wait, got.why, row.wait, row.why)
	}
	only := got.onlyAdds()
	if len(only.away) > 0 || only.wait > 0 || len(only.add) != len(got.add) {
		t.Errorf("of adds only there is %+v", only)
	}
}

func TestAnAdapterGetsChangesSortedByValue(t *testing.T) {
	changes := changesOf([]plan.Change{
		{Change: record.Change{Action: record.Create, Key: www, Value: values[2]}},
		{Change: record.Change{Action: record.Resume, Key: www, Value: values[1]}},
	})
	if changes[0].Value != values[1] || changes[1].Value != values[2] {
		t.Errorf("got %v", changes)
	}
}

func TestDoubtsAreCountedAndEnd(t *testing.T) {
	d := newDoubts(begun, flags)
	at := begun + time.Second
	if until, why := d.waits(at); d.open(at) != 0 || until != begun+flags.Quiet() || why != startWords {
		t.Errorf("after a start: %d open calls, everything in doubt until %s: %s", d.open(at), until, why)
	}
	swap := []plan.Change{{Change: record.Change{Action: record.Swap, Key: www, Value: values[0], From: values[1]}}}
	d.ambiguous(at, swap)
	if n := d.open(at); n != 2 {
		t.Errorf("%d open calls, want the two values of a swap", n)
	}
	if until, why := d.waits(begun + flags.Quiet()); until != at+flags.Quiet() || why != callWords([]string{values[0] + " of " + www.Shown(), values[1] + " of " + www.Shown()}) {
		t.Errorf("once the start is beyond doubt: until %s: %s", until, why)
	}
	quiet := at + flags.Quiet()
	if !d.doubtful(www, values[1], quiet-1) || d.doubtful(www, values[1], quiet) || d.until(www) != quiet {
		t.Errorf("the doubt of a replaced value ends at %s, want %s", d.until(www), quiet)
	}
	d.ambiguous(quiet, nil) // forgets what is over
	if len(d.calls) != 0 || d.open(quiet) != 0 {
		t.Errorf("kept: %v", d.calls)
	}
}
