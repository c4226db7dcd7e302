package powerdns

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/providers/powerdns/powerdnstest"
)

const comments = "INSERT INTO comments(domain_id,name,type,modified_at,account,comment) VALUES " +
	"(1,'www.example.com','A',1500000000,'alice','rack 7; ask first'),(1,'www.example.com','A',1500000001,'sidestep','a note by hand')"

// Comments of people stay as they are, times included, and the mark comes and goes
// with the pause.
func TestCommentsAreKept(t *testing.T) {
	f, a := start(t, wwwZone)
	f.SQL(comments)
	before := f.Attributes()
	times := func() []string {
		return f.SQL("SELECT modified_at, account, comment FROM comments WHERE comment NOT LIKE 'v=sidestep1%' ORDER BY 1")
	}
	told := times()
	if err := a.TakeAway(t.Context(), pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")); err != nil {
		t.Fatal(err)
	}
	wants(t, "www, paused", at(f, "www.example.com."), "comment www.example.com. A alice rack 7; ask first", "comment www.example.com. A sidestep a note by hand",
		"comment www.example.com. A "+marked("192.0.2.10"), "www.example.com. 60 A 192.0.2.10 disabled", "www.example.com. 60 A 192.0.2.20")
	create := provider.Call{Key: wwwA, Seen: listed(t, a), Add: []record.Change{{Action: record.Create, Key: wwwA, Value: "192.0.2.30"}}}
	if err := a.Add(t.Context(), create); err != nil {
		t.Fatal(err)
	}
	if body := string(writesOf(f)[len(writesOf(f))-1].Body); strings.Contains(body, "comments") {
		t.Errorf("a create without a change of the mark writes comments: %s", body)
	}
	if err := a.Add(t.Context(), resumeOf(listed(t, a), "192.0.2.10")); err != nil {
		t.Fatal(err)
	}
	wants(t, "the zone, resumed", f.Attributes(), append(before, "www.example.com. 60 A 192.0.2.30")...)
	wants(t, "the comments' times", times(), told...)
}

// A person enables a value that sidestep paused: the mark says nothing any more, is
// listed as what remains, and a release takes it and nothing else.
func TestReleaseTakesStaleMarksCopiesAndStamps(t *testing.T) {
	f, a := start(t, wwwZone+"alias 60 IN CNAME lb.example.net.\n"+
		"_sidestep IN TXT \"v=1 holder=mon-1 at=1 epoch=1 seq=1 nonce=ff\"\n"+
		"_sidestep-paused.www IN TXT \"v=sidestep1 type=A value=192.0.2.10 ttl=60\"\n"+
		"_sidestep-paused.www IN TXT \"v=sidestep1 type=AAAA value=2001:db8::1 ttl=60\"\n"+
		"_sidestep-paused.www IN TXT \"a note\"\n")
	f.SQL(comments)
	if err := a.TakeAway(t.Context(), pauseOf(listed(t, a), "192.0.2.20", "192.0.2.10")); err != nil {
		t.Fatal(err)
	}
	f.SQL("UPDATE records SET disabled=0 WHERE content='192.0.2.20'")
	seen := listed(t, a)
	if a, _ := seen.Set(wwwA).Find("192.0.2.20"); !a.Live || a.Paused || a.Held {
		t.Errorf("enabled by hand: got %+v", a)
	}
	wants(t, "what remains", slices.Sorted(slices.Values(a.Remains(seen))),
		"a mark on www.example.com. A for 192.0.2.20, which sidestep does not pause",
		"1 parked copies at _sidestep-paused.www.example.com. of values that are live",
		"the stamp at _sidestep.example.com.")
	done, err := a.Release(t.Context(), seen, nil)
	if err != nil || !done {
		t.Fatalf("release: %v, %v", done, err)
	}
	wants(t, "the zone", f.Attributes(),
		"alias.example.com. 60 CNAME lb.example.net", "comment www.example.com. A alice rack 7; ask first", "comment www.example.com. A sidestep a note by hand",
		"example.com. 300 NS ns1.example.net", "example.com. 300 SOA ns1.example.net admin.example.net SERIAL 3600 600 86400 60",
		`_sidestep-paused.www.example.com. 300 TXT "a note"`, `_sidestep-paused.www.example.com. 300 TXT "v=sidestep1 type=AAAA value=2001:db8::1 ttl=60"`,
		"www.example.com. 60 A 192.0.2.10", "www.example.com. 60 A 192.0.2.20")
	// What remains changed since the list: nothing is taken.
	f.SQL("INSERT INTO records(domain_id,name,type,content,ttl,disabled,auth) VALUES (1,'_sidestep.example.com','TXT','\"x\"',60,0,1)")
	f.Forget()
	if _, err := a.Release(t.Context(), seen, nil); provider.ClassOf(err) != provider.Conflict || len(writesOf(f)) != 0 {
		t.Errorf("a release from an old list: got %v, %d writes", err, len(writesOf(f)))
	}
}

func alias(t *testing.T, a *Adapter, action record.Action, from, value string) error {
	t.Helper()
	key := record.Key{Zone: testZone, Name: "alias.example.com.", Type: record.CNAME}
	call := provider.Call{Key: key, Seen: listed(t, a), Empty: action == record.Pause}
	change := []record.Change{{Action: action, Key: key, From: from, Value: value}}
	if action.Add() {
		call.Add = change
		return a.Add(t.Context(), call)
	}
	call.Away = change
	return a.TakeAway(t.Context(), call)
}

// PowerDNS keeps one record in a CNAME set, disabled or not: another target that is
// wanted moves the paused one into a copy, and only one that is ours to move.
func TestOneCNAMEOfTwo(t *testing.T) {
	f, a := start(t, powerdnstest.Empty+"alias 60 IN CNAME one.example.net.\n")
	f.SQL("INSERT INTO comments(domain_id,name,type,modified_at,account,comment) VALUES (1,'alias.example.com','CNAME',1,'alice','hers')")
	const hers, live = "comment alias.example.com. CNAME alice hers", "alias.example.com. 60 CNAME "
	const copied = `_sidestep-paused.alias.example.com. 300 TXT "v=sidestep1 type=CNAME value=one.example.net. ttl=60"`
	steps := []struct {
		what string
		do   func() error
		want []string
	}{
		{"pause", func() error { return alias(t, a, record.Pause, "", "one.example.net.") },
			[]string{hers, live + "one.example.net disabled", "comment alias.example.com. CNAME " + marked("one.example.net.")}},
		{"create", func() error { return alias(t, a, record.Create, "", "two.example.net.") }, []string{hers, live + "two.example.net"}},
		{"swap", func() error { return alias(t, a, record.Swap, "two.example.net.", "one.example.net.") }, []string{hers, live + "one.example.net"}},
		{"swap again", func() error { return alias(t, a, record.Swap, "one.example.net.", "two.example.net.") }, []string{hers, live + "two.example.net"}},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			t.Fatalf("%s: %v", s.what, err)
		}
		wants(t, s.what, at(f, "alias.example.com."), s.want...)
	}
	wants(t, "the copies", at(f, "_sidestep-paused.alias.example.com."), copied)
	failed(t, alias(t, a, record.Create, "", "three.example.net."), provider.Conflict, "", "swap it")
	failed(t, alias(t, a, record.Swap, "one.example.net.", "three.example.net."), provider.Conflict, "", "is not live")
	f.SQL("UPDATE records SET disabled=1 WHERE name='alias.example.com'")
	failed(t, alias(t, a, record.Resume, "", "one.example.net."), provider.Conflict, "", "somebody else disabled two.example.net.")
	a4 := record.Key{Zone: testZone, Name: "alias.example.com.", Type: record.A}
	failed(t, a.Add(t.Context(), provider.Call{Key: a4, Seen: listed(t, a), Add: []record.Change{{Action: record.Create, Key: a4, Value: "192.0.2.1"}}}),
		provider.Permanent, "", "cannot stand")
}

// What the class of PowerDNS' API cannot prevent: a value that is added after our
// last look is overwritten. The set is never empty, and what was listed is there.
func TestGapIsWhatItIs(t *testing.T) {
	f, a := start(t, wwwZone)
	call := pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")
	call.Gate = func() error {
		f.SQL("INSERT INTO records(domain_id,name,type,content,ttl,disabled,auth) VALUES (1,'www.example.com','A','192.0.2.30',60,0,1); DELETE FROM records WHERE content='192.0.2.20'")
		return nil
	}
	if err := a.TakeAway(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	wants(t, "www", f.Hand(t, nil).Live(wwwA), "192.0.2.20")
}

func TestInspect(t *testing.T) {
	f, a := start(t, wwwZone)
	lines, err := a.Inspect(t.Context())
	if err != nil || len(lines) != 2 || !strings.HasPrefix(lines[0], "PowerDNS Authoritative Server 4.") || lines[1] != "zone example.com.: kind Native, serial 7, DNSSEC off" {
		t.Errorf("got %q, %v", lines, err)
	}
	f.SQL("UPDATE domains SET type='MASTER'; DELETE FROM domainmetadata WHERE kind='SOA-EDIT-API'")
	lines, err = a.Inspect(t.Context())
	if err != nil || len(lines) != 3 || !strings.Contains(lines[2], "SOA-EDIT-API") {
		t.Errorf("a primary without SOA-EDIT-API: got %q, %v", lines, err)
	}
	if got := a.warnings(head{Kind: "Native", DNSSEC: true}); len(got) != 1 || !strings.Contains(got[0], "API-RECTIFY") {
		t.Errorf("signed and not rectified: got %q", got)
	}
	call := pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")
	f.SQL("UPDATE domains SET type='SLAVE', master='192.0.2.53'")
	f.Forget()
	_, err = a.Inspect(t.Context())
	failed(t, err, provider.Permanent, "Slave", "primary server")
	failed(t, a.TakeAway(t.Context(), call), provider.Permanent, "Slave", "next transfer")
	_, err = a.Release(t.Context(), listed(t, a), nil)
	failed(t, err, provider.Permanent, "Slave", "next transfer")
	if n := len(writesOf(f)); n != 0 {
		t.Errorf("%d writes", n)
	}
}

// A switch costs the list it rests on, one look and one PATCH a write.
func TestCallsOfASwitch(t *testing.T) {
	f, a := start(t, wwwZone)
	f.Forget()
	if err := a.TakeAway(t.Context(), pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")); err != nil {
		t.Fatal(err)
	}
	var methods []string
	for _, r := range f.Requests() {
		methods = append(methods, r.Method)
		if r.Query != "" {
			t.Errorf("a list in part: %s?%s", r.Path, r.Query)
		}
	}
	if got := strings.Join(methods, " "); got != "GET GET PATCH" {
		t.Errorf("got %s", got)
	}
	history := f.History()
	wants(t, "history", slices.Sorted(slices.Values(history)), "- www.example.com. 60 A 192.0.2.10",
		"+ www.example.com. 60 A 192.0.2.10 disabled", "+ comment www.example.com. A "+marked("192.0.2.10"))
}

// A restart of the server and of us forgets nothing.
func TestPauseOutlivesTheServer(t *testing.T) {
	f, a := start(t, wwwZone)
	if err := a.TakeAway(t.Context(), pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")); err != nil {
		t.Fatal(err)
	}
	f.Real.Kill()
	_, err := a.List(t.Context())
	failed(t, err, provider.Retryable, "HTTP 502", "internal error")
	f.Real.Restart()
	got, _ := listed(t, connect(t, f)).Set(wwwA).Find("192.0.2.10")
	if got.Live || !got.Paused || got.Held || got.TTL != time.Minute {
		t.Errorf("got %+v", got)
	}
}

// Octets that JSON cannot carry are not put back as something else.
func TestWhatJSONCannotCarryIsNotWritten(t *testing.T) {
	f, a := start(t, wwwZone)
	f.SQL("INSERT INTO comments(domain_id,name,type,modified_at,account,comment) VALUES (1,'www.example.com','A',1,'alice',cast(x'c3' as text))")
	f.Forget()
	failed(t, a.TakeAway(t.Context(), pauseOf(listed(t, a), "192.0.2.10", "192.0.2.20")), provider.Permanent, "", "no UTF-8")
	if n := len(writesOf(f)); n != 0 {
		t.Errorf("%d writes", n)
	}
}
