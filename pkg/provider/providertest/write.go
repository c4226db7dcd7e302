package providertest

import (
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

func writeCases() []Case {
	return []Case{
		{"create/first", "a value of a new name is created with the TTL of the call", nil, createsFirst},
		{"create/sibling", "a value is created beside others, which stay as they are", nil, createsSibling},
		{"create/two", "several values are created in one call", nil, createsTwo},
		{"create/wildcard-and-apex", "a wildcard and the apex are created like any name", nil, createsOddNames},
		{"create/repeat", "a create that rests on a new list and finds its value live leaves it as it is", nil, repeatsCreate},
		{"resume/repeat", "a resume of a live value leaves it as it is", nil, repeatsResume},
		{"pause/repeat", "a pause of a paused value leaves it as it is", nil, repeatsPause},
		{"resume/re-added", "a paused value that an operator has added again can be resumed and paused", nil, resumesReAdded},
		{"ttl/set", "a new TTL is set on live values, or refused for good", nil, setsTTL},
		{"weight/set", "a weight is set and keeps everything else", func(p provider.Promises) bool { return p.Weights }, setsWeight},
		{"variant/apart", "a write to one variant of a set leaves the others as they are", func(p provider.Promises) bool { return p.Variants }, keepsVariantsApart},
		{"variant/refused", "where there are none, a call for a variant is refused for good", func(p provider.Promises) bool { return !p.Variants }, refusesVariant},
		{"swap/cname", "a single-valued type is switched in place, the old value kept, and switched back", single, swapsCNAME},
		{"swap/refused", "where it is not promised, a change of a single-valued type is refused for good", func(p provider.Promises) bool { return !p.Single }, refusesCNAME},
		{"together/both", "one call adds and takes away, and may so replace the only value", func(p provider.Promises) bool { return p.Together }, addsAndTakesAway},
	}
}

func createsFirst(e *env) {
	for _, key := range []record.Key{e.key("new", record.A), e.key("other", record.A)} {
		e.untouched(key, func() { e.add(key, create(key, one)) })
		e.wantLive(key, one)
		e.wantAnswer(key, live(one))
	}
	aaaa := e.key("new", record.AAAA)
	e.add(aaaa, create(aaaa, "2001:db8::1"))
	e.wantLive(aaaa, "2001:db8::1")
	e.wantLive(e.key("new", record.A), one)
}

func createsSibling(e *env) {
	key := e.key("www", record.A)
	e.put(key, one)
	e.untouched(key, func() { e.add(key, create(key, two)) })
	e.wantLive(key, one, two)
	e.wantAnswer(key, live(one))
	e.wantAnswer(key, live(two))
}

func createsTwo(e *env) {
	key := e.key("www", record.A)
	e.put(key, one)
	e.add(key, create(key, two), create(key, three))
	e.wantLive(key, one, two, three)
}

func createsOddNames(e *env) {
	for _, label := range []string{"@", "*", "*.wild", "a.b.c"} {
		key := e.key(label, record.A)
		e.add(key, create(key, one))
		e.wantLive(key, one)
		e.wantAnswer(key, live(one))
	}
}

// harmless makes a call that asks for what is already so: it may succeed, or
// be refused because of it, and changes no answer.
func (e *env) harmless(key record.Key, call provider.Call) {
	e.Helper()
	before := e.list().Set(key)
	if err := e.send(e.adapter, call); err != nil {
		e.class("a repeated write", err, provider.Conflict)
	}
	after := e.list().Set(key)
	if len(before.Answers) != len(after.Answers) {
		e.Errorf("a repeated write: expected %+v, got %+v", before.Answers, after.Answers)
	}
	for _, a := range before.Answers {
		got, _ := after.Find(a.Value)
		if got.Live != a.Live || got.TTL != a.TTL || a.Paused && !a.Live && !got.Paused {
			e.Errorf("a repeated write: expected %+v, got %+v", a, got)
		}
	}
}

func repeatsCreate(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two)
	call := e.call(key)
	call.Add = []record.Change{create(key, one)}
	e.untouched(key, func() { e.harmless(key, call) })
	e.onlyOnce(key, one)
	e.wantLive(key, one, two)
}

// onlyOnce sees that a value has one record and not two of them.
func (e *env) onlyOnce(key record.Key, value string) {
	e.Helper()
	count := 0
	for _, rr := range e.hand.Dump() {
		if record.Name(rr.Name) == key.Name && rr.Type == string(key.Type) && rr.Data == value {
			count++
		}
	}
	if count != 1 {
		e.Errorf("%s: expected one record of %s, found %d", key, value, count)
	}
}

func repeatsResume(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two)
	call := e.call(key)
	call.Add = []record.Change{resume(key, one)}
	e.harmless(key, call)
	e.onlyOnce(key, one)
	e.wantLive(key, one, two)
}

func repeatsPause(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two)
	e.away(key, []string{two}, pause(key, one))
	call := e.call(key)
	call.Away, call.Survivors = []record.Change{pause(key, one)}, []string{two}
	e.harmless(key, call)
	e.wantLive(key, two)
	e.wantAnswer(key, paused(one))
}

func resumesReAdded(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two)
	e.away(key, []string{two}, pause(key, one))
	if e.promises().Pause == provider.PauseNative {
		e.Skipf("does not apply: a status flag has no second record of one value")
	}
	e.put(key, one)
	e.add(key, resume(key, one))
	e.wantLive(key, one, two)
	e.wantResumed(key, one)
	e.away(key, []string{two}, pause(key, one))
	e.wantLive(key, two)
	e.wantAnswer(key, paused(one))
}

func setsTTL(e *env) {
	const longer = 2 * ttl
	key := e.key("www", record.A)
	e.put(key, one, two)
	change := func(value string) record.Change {
		return record.Change{Action: record.SetTTL, Key: key, Value: value, TTL: longer}
	}
	call := e.call(key)
	call.Away, call.Survivors = []record.Change{change(one)}, []string{one, two}
	if !e.promises().OneByOne {
		call.Away = append(call.Away, change(two))
	}
	if err := e.send(e.adapter, call); err != nil {
		e.class("set a TTL", err, provider.Permanent)
		e.wantAnswer(key, live(one))
		return
	}
	if e.promises().OneByOne {
		e.away(key, []string{one, two}, change(two))
	}
	e.wantLive(key, one, two)
	for _, value := range []string{one, two} {
		e.wantAnswer(key, record.Answer{Value: value, TTL: longer, Live: true})
	}
}

func setsWeight(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two)
	e.away(key, []string{one, two}, record.Change{Action: record.SetWeight, Key: key, Value: one, Weight: 7})
	e.wantLive(key, one, two)
	e.wantAnswer(key, live(one))
	e.away(key, []string{two}, pause(key, one))
	e.add(key, resume(key, one))
	if a, _ := e.list().Set(key).Find(one); a.Weight != 7 {
		e.Errorf("%s: expected weight 7 after a pause and a resume, got %d", key, a.Weight)
	}
}

func keepsVariantsApart(e *env) {
	key := e.key("www", record.A)
	line := key
	line.Variant = e.world.variant()
	e.put(key, one, two)
	e.untouched(line, func() { e.add(line, create(line, one)) })
	e.untouched(line, func() { e.add(line, create(line, three)) })
	e.untouched(line, func() { e.away(line, []string{three}, pause(line, one)) })
	e.wantAnswer(line, paused(one))
	e.wantAnswer(key, live(one))
	e.untouched(key, func() { e.away(key, []string{one}, pause(key, two)) })
	e.untouched(line, func() { e.add(line, resume(line, one)) })
	e.wantAnswer(line, live(one))
	e.wantAnswer(key, paused(two))
	if found := e.list().Set(line).Live(); len(found) != 2 {
		e.Errorf("%s: expected two live values, got %v", line, found)
	}
}

func refusesVariant(e *env) {
	key := e.key("www", record.A)
	e.put(key, one)
	line := key
	line.Variant = e.world.variant()
	call := e.call(line)
	call.Add = []record.Change{create(line, two)}
	e.unchanged("a refused create", func() { e.class("create in a variant", e.send(e.adapter, call), provider.Permanent) })
}

func swapsCNAME(e *env) {
	const old, next = "dc1.example.net.", "dc2.example.net."
	key := e.key("alias", record.CNAME)
	e.put(key, old)
	for _, step := range [][2]string{{old, next}, {next, old}} {
		change := record.Change{Action: record.Swap, Key: key, From: step[0], Value: step[1], TTL: ttl}
		e.untouched(key, func() { e.away(key, nil, change) })
		e.wantLive(key, step[1])
		e.wantAnswer(key, paused(step[0]))
		e.wantResumed(key, step[1])
	}
}

func refusesCNAME(e *env) {
	key := e.key("alias", record.CNAME)
	e.put(key, "dc1.example.net.")
	call := e.call(key)
	call.Away = []record.Change{{Action: record.Swap, Key: key, From: "dc1.example.net.", Value: "dc2.example.net.", TTL: ttl}}
	e.unchanged("a refused swap", func() { e.class("swap a CNAME", e.send(e.adapter, call), provider.Permanent) })
	fresh := e.key("fresh", record.CNAME)
	call = e.call(fresh)
	call.Add = []record.Change{create(fresh, "dc1.example.net.")}
	e.unchanged("a refused create", func() { e.class("create a CNAME", e.send(e.adapter, call), provider.Permanent) })
}

func addsAndTakesAway(e *env) {
	key := e.key("www", record.A)
	e.put(key, one)
	call := e.call(key)
	call.Add = []record.Change{{Action: record.Create, Key: key, Value: two, TTL: ttl, Weight: 1}}
	call.Away = []record.Change{pause(key, one)}
	if err := e.send(e.adapter, call); err != nil {
		e.Fatalf("add and take away at once: expected success, got %v", err)
	}
	e.wantLive(key, two)
	e.wantAnswer(key, paused(one))
	e.wantAnswer(key, record.Answer{Value: two, TTL: 300 * time.Second, Live: true})
	call = e.call(key)
	call.Add = []record.Change{resume(key, one)}
	call.Away = []record.Change{pause(key, two)}
	if err := e.send(e.adapter, call); err != nil {
		e.Fatalf("add and take away at once: expected success, got %v", err)
	}
	e.wantLive(key, one)
	e.wantAnswer(key, paused(two))
}
