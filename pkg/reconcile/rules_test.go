package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// scene is what one random schedule is played in.
type scene struct {
	class   memory.Class
	single  bool          // a CNAME, which is swapped in place
	minLive int           // of the record set
	most    int           // live values that the provider lets it have; 0 any number
	empty   bool          // on_all_down: none
	nodes   int           // how many write, each sure to be alone
	hands   bool          // an operator edits the zone meanwhile
	behind  time.Duration // how much of the past lists show, within the lag
	lists   bool          // the adapters do not follow their own writes
}

// act is one step of a hostile schedule.
type act struct {
	node    int           // who wants something
	usable  []string      // what it wants from here on
	faults  []memory.Kind // what happens to the writes of this round, in order
	lists   []memory.Kind // and to its lists
	deliver int           // the open call that happens before the round; -1 for none
	gap     int           // before which request of the round the edit, or the round of the other node, comes
	edit    string        // what the operator does in the gap
	value   string        // and to which value
	restart bool          // the process was killed before the round
	forget  bool          // and its disk was lost with it
	sleep   time.Duration
}

func drawAct(t *rapid.T) act {
	faults := []memory.Kind{memory.None, memory.None, memory.LostReply, memory.LostRequest, memory.Late, memory.Throttled}
	lists := []memory.Kind{memory.None, memory.None, memory.None, memory.Short, memory.Empty, memory.Throttled}
	return act{
		node:    rapid.IntRange(0, 1).Draw(t, "node"),
		usable:  rapid.SliceOfDistinct(rapid.SampledFrom(values), rapid.ID[string]).Draw(t, "usable"),
		faults:  rapid.SliceOfN(rapid.SampledFrom(faults), 0, 4).Draw(t, "faults"),
		lists:   rapid.SliceOfN(rapid.SampledFrom(lists), 0, 4).Draw(t, "lists"),
		deliver: rapid.IntRange(-1, 2).Draw(t, "deliver"),
		gap:     rapid.IntRange(1, 8).Draw(t, "gap"),
		edit:    rapid.SampledFrom([]string{"", "delete", "retime", "disable", "enable", "away", "foreign", "stamp"}).Draw(t, "edit"),
		value:   rapid.SampledFrom(values).Draw(t, "value"),
		restart: rapid.Bool().Draw(t, "restart"),
		forget:  rapid.Bool().Draw(t, "forget"),
		sleep:   time.Duration(rapid.IntRange(0, 8).Draw(t, "sleep")) * time.Second,
	}
}

// TestRulesHoldUnderEverySchedule plays random schedules of lost, late and
// doubled calls, lists that fail or show the past, kills and lost disks against
// every class of provider. After each effect on the zone no set is empty that
// had an answer, and nothing is lost; and once the faults end, the zone comes to
// the wanted state.
func TestRulesHoldUnderEverySchedule(t *testing.T) {
	for _, class := range memory.Classes() {
		t.Run(string(class), func(t *testing.T) {
			schedules(t, func(t *rapid.T) scene {
				return scene{
					class: class, nodes: 1,
					minLive: rapid.IntRange(1, 2).Draw(t, "min_live"),
					empty:   rapid.Bool().Draw(t, "empty"),
					behind:  rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "behind"),
					lists:   rapid.Bool().Draw(t, "lists"),
				}
			})
		})
	}
}

// TestRulesHoldWhereThePlanIsFull does the same where the provider lets a set have
// one, two or three live values: what makes room never empties the set, nor leaves
// less than min_live, whatever becomes of the calls. No provider that writes several
// values at once has such a limit.
func TestRulesHoldWhereThePlanIsFull(t *testing.T) {
	for _, class := range []memory.Class{memory.Status, memory.Append} {
		t.Run(string(class), func(t *testing.T) {
			schedules(t, func(t *rapid.T) scene {
				return scene{
					class: class, nodes: 1,
					minLive: rapid.IntRange(1, 2).Draw(t, "min_live"),
					most:    rapid.IntRange(1, 3).Draw(t, "most"),
					behind:  rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "behind"),
				}
			})
		})
	}
}

// TestTwoNodesHurtNoZoneThatIsFenced lets two nodes write in each other's gaps,
// both sure to be alone.
func TestTwoNodesHurtNoZoneThatIsFenced(t *testing.T) {
	for _, class := range memory.Classes() {
		if !class.Fenced() {
			continue
		}
		t.Run(string(class), func(t *testing.T) {
			schedules(t, func(t *rapid.T) scene {
				return scene{class: class, nodes: 2, minLive: rapid.IntRange(1, 2).Draw(t, "min_live"), lists: rapid.Bool().Draw(t, "lists")}
			})
		})
	}
}

// TestTwoNodesLoseNothingAnywhere does the same where nothing is compared. Then
// a set can be empty until the next round, but no value is lost and the zone
// comes to rest: where values have flags or copies of their own, and not where
// a whole set is written over what the other node created.
func TestTwoNodesLoseNothingAnywhere(t *testing.T) {
	for _, class := range []memory.Class{memory.Status, memory.Append} {
		t.Run(string(class), func(t *testing.T) {
			schedules(t, func(*rapid.T) scene { return scene{class: class, nodes: 2, minLive: 1} })
		})
	}
}

// TestHandEditsAreKept lets an operator edit the zone between lists and writes.
func TestHandEditsAreKept(t *testing.T) {
	for _, class := range memory.Classes() {
		t.Run(string(class), func(t *testing.T) {
			schedules(t, func(t *rapid.T) scene {
				return scene{class: class, nodes: 1, hands: true, minLive: rapid.IntRange(1, 2).Draw(t, "min_live")}
			})
		})
	}
}

// TestSingleValuesAreSwappedUnderEverySchedule does it with a type that can have
// one value, in the classes that can switch it in place.
func TestSingleValuesAreSwappedUnderEverySchedule(t *testing.T) {
	for _, class := range memory.Classes() {
		if class == memory.Append {
			continue // refuses them: the swap would have an empty moment
		}
		t.Run(string(class), func(t *testing.T) {
			schedules(t, func(t *rapid.T) scene {
				return scene{class: class, single: true, nodes: 1, minLive: 1, empty: rapid.Bool().Draw(t, "empty")}
			})
		})
	}
}

// schedules plays random schedules in random scenes, each in a bubble.
func schedules(t *testing.T, draw func(*rapid.T) scene) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		s := draw(rt)
		script := rapid.SliceOfN(rapid.Custom(drawAct), 1, 8).Draw(rt, "script")
		var err error
		synctest.Test(t, func(t *testing.T) { err = s.play(t, script) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// tolerated is what a class cannot rule out in a scene.
func (s scene) tolerated() (list []memory.Tolerance) {
	switch s.class {
	case memory.Status:
		// Where no wanted value is live, a create waits for no call of a process
		// before; two of one value answer as one.
		list = append(list, memory.Doubled)
	case memory.Append:
		// The same, and for every add, since a value is put in by appending it.
		list = append(list, memory.Doubled)
	case memory.Whole:
		// A late write of the whole set is a legal set, but an older one: the next
		// round mends it.
		list = append(list, memory.Overwritten)
	}
	if !s.class.Fenced() && s.class != memory.Whole && (s.nodes > 1 || s.hands) {
		list = append(list, memory.Emptied, memory.Overwritten)
	}
	if !s.class.Fenced() && s.empty {
		// A set that was emptied on purpose gets a value back at once, although an
		// older call may still take that value out.
		list = append(list, memory.Emptied)
	}
	if s.hands && s.class == memory.Prerequisites {
		list = append(list, memory.Overwritten) // a TTL, after three refusals in a row
	}
	return list
}

func (s scene) spec() (*steer.Spec, []string) {
	spec := &steer.Spec{Key: www, Policy: steer.All, MaxLive: 1, MinLive: s.minLive, OnAllDown: steer.Keep, TTL: time.Minute}
	if s.empty {
		spec.OnAllDown = steer.None
	}
	if !s.single {
		return spec, values
	}
	spec.Key.Type, spec.Policy = record.CNAME, steer.Priority
	return spec, s.names(values)
}

// names are the values as the scene has them.
func (s scene) names(list []string) []string {
	if !s.single {
		return list
	}
	names := make([]string, len(list))
	for i, value := range list {
		names[i] = fmt.Sprintf("b%d.example.net.", slices.Index(values, value))
	}
	return names
}

func (s scene) play(t *testing.T, script []act) error {
	spec, answers := s.spec()
	live := answers[:2]
	if s.single {
		live = answers[:1]
	}
	w := newWorldOf(t, memory.Options{Class: s.class, Late: 10 * time.Second, Lag: time.Second, Behind: s.behind, Most: s.most}, spec, answers, live)
	w.full = s.most > 0
	w.lists = s.lists
	w.start(w.only())
	if s.nodes > 1 {
		w.join("node-2")
	}
	p := &player{world: w, scene: s, wants: make([][]string, s.nodes), deleted: map[string]bool{}, begun: len(w.zone.History())}
	for _, a := range script {
		p.act(a)
	}
	return p.rest()
}

// player plays a script and remembers what a test of its outcome needs.
type player struct {
	*world
	scene   scene
	wants   [][]string // by node
	begun   int        // how many versions the zone had at the start
	deleted map[string]bool
	edited  bool
}

func (p *player) act(a act) {
	a.node %= p.scene.nodes
	p.prepare(a)
	p.wants[a.node] = p.scene.names(a.usable)
	n := p.nodes[a.node]
	n.round(p.want(p.wants[a.node]...), Orders{TakeOver: p.scene.nodes > 1})
	if p.clock.Boot()-n.led >= n.write.Quiet() {
		n.notes.trusted = true
	}
	p.zone.Between(nil)
}

// prepare is everything that happens to the world ahead of a round, and what
// will happen in its gaps.
func (p *player) prepare(a act) {
	time.Sleep(a.sleep)
	if a.deliver >= 0 && a.deliver < len(p.zone.Open()) {
		_ = p.zone.Deliver(a.deliver) // a refusal is as good as an effect
	}
	if n := p.nodes[a.node]; a.restart {
		if a.forget {
			n.notes = newMemoNotes()
		}
		p.start(n)
	}
	faults, lists := a.faults, a.lists
	p.zone.Faults(func(op memory.Op, _ int) memory.Fault {
		list := &lists
		if op.Write() {
			list = &faults
		}
		if len(*list) == 0 {
			return memory.Fault{}
		}
		kind := (*list)[0]
		*list = (*list)[1:]
		return memory.Fault{Kind: kind}
	})
	p.before(a.gap, func() { p.meanwhile(a) })
}

// beyond are the edits whose outcome a class does not promise anything about: a
// flag is set by id, wherever its record was moved; a survivor that was renamed
// is put back by the take-away whose witness it is; and no TTL can be set back
// where nothing is changed in place.
var beyond = map[memory.Class][]string{
	memory.Status: {"away"},
	memory.Rename: {"away"},
	memory.Append: {"retime"},
}

// meanwhile is what happens in the gap between two requests of a round.
func (p *player) meanwhile(a act) {
	if other := 1 - a.node; p.scene.nodes > 1 {
		p.nodes[other].round(p.want(p.wants[other]...), Orders{TakeOver: true})
	}
	if !p.scene.hands || a.edit == "" || slices.Contains(beyond[p.scene.class], a.edit) {
		return
	}
	edits := map[string]memory.Edit{
		"delete":  memory.Delete(string(www.Name), "A", a.value),
		"retime":  memory.Retime(string(www.Name), "A", a.value, 5*time.Minute),
		"disable": memory.Disable(string(www.Name), "A", a.value),
		"enable":  memory.Enable(string(www.Name), "A", a.value),
		"away":    memory.Move(string(www.Name), "A", a.value, "old.example.com."),
		"foreign": memory.Put(string(www.Name), "A", time.Minute, "198.51.100.7"),
		"stamp":   memory.Put("_sidestep.example.com.", "TXT", time.Minute, "v=1 holder=copy at=1 epoch=0 seq=1 nonce=0123456789abcdef"),
	}
	if p.zone.EditByHand(edits[a.edit]) != nil {
		return // there was nothing to edit
	}
	p.edited = true
	if a.edit == "delete" || a.edit == "away" {
		p.deleted[a.value] = true
	}
}

// rest ends all faults, lets every open call happen, and holds what came of it
// against the rules.
func (p *player) rest() error {
	p.zone.Faults(nil)
	want := p.wants[0]
	for range 2 {
		if err := p.comeToRest(want); err != nil {
			return err
		}
		for len(p.zone.Open()) > 0 {
			_ = p.zone.Deliver(0) // a refusal is as good as an effect
		}
		time.Sleep(time.Second) // until lists show it
	}
	if err := p.comeToRest(want); err != nil {
		return err
	}
	if err := memory.Check(p.zone.History(), p.scene.tolerated()...); err != nil {
		return err
	}
	if err := p.nothingGone(); err != nil {
		return err
	}
	if err := p.enoughLive(); err != nil {
		return err
	}
	return p.asWanted(want)
}

// asWanted compares what the zone answers with at rest. After edits by hand a
// guard may stop what is wanted.
func (p *player) asWanted(want []string) error {
	live := p.zone.Live(p.spec.Key)
	switch {
	case p.edited:
		if len(live) == 0 && len(want) > 0 && p.scene.class != memory.Status && p.scene.class != memory.Whole {
			return fmt.Errorf("at rest the zone is empty, want %v", want)
		}
		return nil
	case len(want) == 0 && p.scene.empty:
		if len(live) > 0 {
			return fmt.Errorf("at rest the zone answers with %v, want nothing", live)
		}
		return nil
	case len(want) == 0:
		return nil
	case p.scene.single:
		want = p.firstOf(want)
	case p.scene.most > 0 && p.scene.most < max(len(want), p.scene.minLive+1):
		return p.asFarAsThereIsRoom(live, want)
	}
	for _, value := range want {
		if !slices.Contains(live, value) {
			return fmt.Errorf("at rest the zone answers with %v, want %v", live, want)
		}
	}
	if len(live) > max(len(want), p.scene.minLive) {
		return fmt.Errorf("at rest the zone answers with %v, want %v and %d at least", live, want, p.scene.minLive)
	}
	return nil
}

// asFarAsThereIsRoom is asWanted where not every wanted value can come in: as many
// as there is room for, unless min_live leaves none.
func (p *player) asFarAsThereIsRoom(live, want []string) error {
	spare := slices.ContainsFunc(live, func(value string) bool { return !slices.Contains(want, value) })
	if len(live) == 0 || p.scene.most > p.scene.minLive && (spare || len(live) < p.scene.most) {
		return fmt.Errorf("at rest the zone answers with %v, want %v as far as there is room for them", live, want)
	}
	return nil
}

func (p *player) firstOf(want []string) []string {
	for _, a := range p.spec.Answers {
		if slices.Contains(want, a.Value) {
			return []string{a.Value}
		}
	}
	return nil
}

// nothingGone reports a value that the zone had at some time and has no more,
// neither live nor paused, although nobody deleted it by hand. Where whole sets
// are written, one that a late call created is unknown to a write under way, and
// created again when it is wanted.
func (p *player) nothingGone() error {
	history := p.zone.History()
	holds := func(v memory.Version, value string) bool {
		return slices.ContainsFunc(v.Records, func(r memory.Record) bool { return strings.Contains(r.Value, value) })
	}
	last := history[len(history)-1]
	if p.scene.class == memory.Whole {
		history = history[:p.begun]
	}
	for _, a := range p.spec.Answers {
		had := slices.ContainsFunc(history, func(v memory.Version) bool { return holds(v, a.Value) })
		if had && !holds(last, a.Value) && !p.deleted[a.Value] {
			return fmt.Errorf("%s is gone from the zone", a.Value)
		}
	}
	return nil
}

// enoughLive looks for an effect of an adapter that left less than min_live
// values live, and less than there were. Two writers, and an operator, can do
// that together where nothing is compared; and so can a write of a whole set
// that is late, or rests on a list that does not show a late one yet, and a late
// call of any kind once the set was emptied on purpose, see tolerated.
func (p *player) enoughLive() error {
	whole := p.scene.class == memory.Whole
	emptied := p.scene.empty && !p.scene.class.Fenced()
	if !p.scene.class.Fenced() && (p.scene.nodes > 1 || p.scene.hands) || whole && p.scene.behind > 0 {
		return nil
	}
	history := p.zone.History()
	count := func(v memory.Version) int {
		values := map[string]bool{}
		for _, r := range v.Records {
			if strings.EqualFold(r.Name, string(www.Name)) && r.Type == string(p.spec.Key.Type) && !r.Disabled {
				values[r.Value] = true
			}
		}
		return len(values)
	}
	for i := 1; i < len(history); i++ {
		v := history[i]
		if v.Cause.Call == nil || v.Cause.Call.Empty || v.Cause.Late && (whole || emptied) {
			continue
		}
		if before, after := count(history[i-1]), count(v); after < before && after < p.scene.minLive {
			return fmt.Errorf("version %d (%s): %d values live of %d, and min_live is %d", i, v.Cause, after, before, p.scene.minLive)
		}
	}
	return nil
}
