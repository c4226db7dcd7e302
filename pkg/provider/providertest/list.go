package providertest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
)

func listCases() []Case {
	return []Case{
		{"promises/consistent", "the promises agree with each other and give every call a deadline", nil, promisesAgree},
		{"list/empty-zone", "a zone without answers lists none, and no stamp", nil, listsEmptyZone},
		{"list/complete", "the list has every A, AAAA and CNAME value, the apex's and wildcards' included", nil, listsComplete},
		{"list/sorted", "sets are sorted by key and answers by value, so that Find works", nil, listsSorted},
		{"list/canonical", "names and values are canonical however they are spelled in the zone", nil, listsCanonical},
		{"list/many", "a zone of more records than one page of any provider is listed whole", nil, listsMany},
		{"list/counts-records", "Records counts the records of every type", nil, listsCount},
		{"list/foreign-records", "records of other types, odd ones too, never break the list", nil, listsForeign},
		{"list/owners", "names that external-dns claims by its TXT records are listed as owned", nil, listsOwners},
		{"list/delegations", "delegations below the apex are listed, the zone's own name servers are not", nil, listsDelegations},
		{"list/strange-stamp", "a stamp that cannot be read is still listed, with its text", nil, listsStrangeStamp},
		{"list/parallel", "List may be called by several goroutines at once", nil, listsParallel},
		{"list/during-writes", "a list during a write shows the zone before it or after it, and every value in it", nil, listsDuringWrites},
	}
}

func promisesAgree(e *env) {
	p := e.promises()
	switch {
	case p.List != 0 && p.List < p.Call:
		e.Errorf("Promises.List: expected the deadline of a list, at least the %v of a call, got %v", p.Call, p.List)
	case p.Call <= 0:
		e.Errorf("Promises.Call: expected the deadline of a call, got %v", p.Call)
	case p.Late < 0 || p.Lag < 0:
		e.Errorf("Promises.Late and Lag: expected no negative time, got %v and %v", p.Late, p.Lag)
	case p.Together && !p.Atomic:
		e.Errorf("Promises.Together holds without Atomic")
	case p.Atomic && p.OneByOne:
		e.Errorf("Promises.Atomic and OneByOne hold at once")
	case !slices.Contains([]provider.Pause{provider.PauseNative, provider.PauseRename, provider.PauseParked}, p.Pause):
		e.Errorf("Promises.Pause: got %q, which is no form of a pause", p.Pause)
	}
}

func listsEmptyZone(e *env) {
	s := e.list()
	if s.Zone != e.world.Zone {
		e.Errorf("list: expected zone %s, got %s", e.world.Zone, s.Zone)
	}
	if len(s.Sets) != 0 || len(s.Stamps) != 0 {
		e.Errorf("list of a fresh zone: expected no sets and no stamps, got %v and %v", s.Sets, s.Stamps)
	}
}

func listsComplete(e *env) {
	keys := map[record.Key][]string{
		e.key("www", record.A):           {one, two},
		e.key("www", record.AAAA):        {"2001:db8::1"},
		e.key("@", record.A):             {three},
		e.key("*.wild", record.A):        {one},
		e.key("alias", record.CNAME):     {"target.example.net."},
		e.key("deep.er.www", record.A):   {two},
		e.key("_svc", record.CNAME):      {"_other.example.net."},
		e.key("*", record.AAAA):          {"2001:db8::2"},
		e.key("xn--bcher-kva", record.A): {one},
	}
	for key, values := range keys {
		e.put(key, values...)
	}
	s := e.list()
	if len(s.Sets) != len(keys) {
		e.Errorf("list: expected %d sets, got %d: %v", len(keys), len(s.Sets), s.Sets)
	}
	for key, values := range keys {
		if got := s.Set(key).Live(); !slices.Equal(got, values) {
			e.Errorf("list of %s: expected %v live, got %v", key, values, got)
		}
		for _, a := range s.Set(key).Answers {
			if a.TTL != ttl || a.Paused || a.Held {
				e.Errorf("list of %s: expected TTL %v, live and nothing else, got %+v", key, ttl, a)
			}
		}
		e.wantLive(key, values...)
	}
}

func listsSorted(e *env) {
	e.put(e.key("zeta", record.A), one)
	e.put(e.key("alpha", record.AAAA), "2001:db8::2")
	e.put(e.key("alpha", record.A), three, one, two)
	s := e.list()
	if !slices.IsSortedFunc(s.Sets, func(a, b record.Set) int { return a.Key.Compare(b.Key) }) {
		e.Errorf("list: the sets are not sorted: %v", s.Sets)
	}
	for _, set := range s.Sets {
		if !slices.IsSortedFunc(set.Answers, func(a, b record.Answer) int { return strings.Compare(a.Value, b.Value) }) {
			e.Errorf("list of %s: the answers are not sorted: %v", set.Key, set.Answers)
		}
	}
}

func listsCanonical(e *env) {
	zone := strings.ToUpper(string(e.world.Zone))
	e.hand.Put(RR{Name: "WwW." + zone, Type: "AAAA", TTL: ttl, Data: "2001:0DB8:0:0:0::000A"})
	e.hand.Put(RR{Name: "Alias." + zone, Type: "CNAME", TTL: ttl, Data: "TARGET.Example.Net."})
	e.settle()
	e.wantAnswer(e.key("www", record.AAAA), live("2001:db8::a"))
	e.wantAnswer(e.key("alias", record.CNAME), live("target.example.net."))
	if sets := e.list().Sets; len(sets) != 2 {
		e.Errorf("list: expected 2 sets, got %v", sets)
	}
}

func listsMany(e *env) {
	const many = 130 // DNSPod and Cloudflare list 100 a page when nobody asks for more
	for i := range many {
		label := "n" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + string(rune('a'+i/26))
		e.hand.Put(RR{Name: string(e.key(label, record.A).Name), Type: "A", TTL: ttl, Data: one})
	}
	e.settle()
	if s := e.list(); len(s.Sets) != many {
		e.Errorf("list: expected %d sets, got %d", many, len(s.Sets))
	}
}

func listsCount(e *env) {
	before := e.list().Records
	e.put(e.key("www", record.A), one, two)
	e.hand.Put(RR{Name: string(e.world.Zone), Type: "MX", TTL: ttl, Data: "10 mail.example.net."})
	e.settle()
	if got := e.list().Records; got != before+3 {
		e.Errorf("list: expected %d records after three more, got %d", before+3, got)
	}
}

// foreign is what else people keep in their zones, odd records included.
func (e *env) foreign() []RR {
	www, apex := string(e.key("www", record.A).Name), string(e.world.Zone)
	long := `"` + strings.Repeat("a", 255) + `" "` + strings.Repeat("b", 45) + `"`
	rrs := []RR{
		{apex, "MX", ttl, "10 mail.example.net."},
		{apex, "MX", ttl, "20 mail2.example.net."},
		{apex, "TXT", ttl, `"v=spf1 include:_spf.example.net -all"`},
		{apex, "CAA", ttl, `0 issue "letsencrypt.org"`},
		{"key._domainkey." + apex, "TXT", ttl, long},
		{"_acme-challenge." + www, "TXT", ttl, `"gfj9Xq-Rg85nM"`},
		{"quote." + apex, "TXT", ttl, `"a \"quoted\" word; and \\ a backslash"`},
		{"bytes." + apex, "TXT", ttl, `"\195\188\127\255"`},
		{"odd." + apex, "TYPE65280", ttl, `\# 3 abcdef`},
		{"_sip._tcp." + apex, "SRV", ttl, "1 2 5060 sip.example.net."},
		{"_sip._tcp." + apex, "SRV", ttl, "1 3 5060 sip.example.net."},
		{www, "TXT", ttl, `"beside the address"`},
		{www, "MX", ttl, "10 mail.example.net."},
		{"other." + apex, "A", ttl, one},
		{"sub." + www, "A", ttl, two},
	}
	return slices.DeleteFunc(rrs, func(rr RR) bool { return slices.Contains(e.world.NoTypes, rr.Type) })
}

func (e *env) putForeign() {
	for _, rr := range e.foreign() {
		e.hand.Put(rr)
	}
	e.settle()
}

func listsForeign(e *env) {
	e.putForeign()
	s := e.list()
	if len(s.Sets) != 2 {
		e.Errorf("list: expected the two address sets among other types, got %v", s.Sets)
	}
	if len(s.Stamps) != 0 || len(s.Owners) != 0 {
		e.Errorf("list: expected neither stamps nor owners, got %v and %v", s.Stamps, s.Owners)
	}
}

func listsOwners(e *env) {
	key := e.key("www", record.A)
	e.put(key, one)
	text := `"heritage=external-dns,external-dns/owner=cluster-7,external-dns/resource=service/shop/web"`
	e.hand.Put(RR{Name: "a-" + string(key.Name), Type: "TXT", TTL: ttl, Data: text})
	e.hand.Put(RR{Name: string(e.key("old", record.A).Name), Type: "TXT", TTL: ttl, Data: text})
	e.settle()
	owners := e.list().Owners
	for _, name := range []record.Name{key.Name, e.key("old", record.A).Name} {
		if !slices.ContainsFunc(owners, func(o provider.Owner) bool {
			return o.Name == name && strings.Contains(o.Owner, "cluster-7")
		}) {
			e.Errorf("list: expected %s to be owned by cluster-7, got %v", name, owners)
		}
	}
}

func listsDelegations(e *env) {
	e.hand.Put(RR{Name: "child." + string(e.world.Zone), Type: "NS", TTL: ttl, Data: "ns1.example.net."})
	e.hand.Put(RR{Name: "child." + string(e.world.Zone), Type: "NS", TTL: ttl, Data: "ns2.example.net."})
	e.settle()
	want := []record.Name{"child." + e.world.Zone}
	if got := e.list().Delegations; !slices.Equal(got, want) {
		e.Errorf("list: expected the delegations %v, got %v", want, got)
	}
}

func listsStrangeStamp(e *env) {
	const text = "written by hand; no stamp at all"
	name := e.world.Zone.Below(provider.StampLabel)
	e.hand.Put(RR{Name: string(name), Type: "TXT", TTL: ttl, Data: `"` + text + `"`})
	e.settle()
	stamps := e.list().Stamps
	if len(stamps) != 1 || stamps[0].Raw != text || stamps[0].Nonce != "" {
		e.Errorf("list: expected one stamp with only its text %q, got %+v", text, stamps)
	}
}

func listsParallel(e *env) {
	e.put(e.key("www", record.A), one, two)
	errs := make(chan string, 8)
	var group sync.WaitGroup
	for range cap(errs) {
		group.Go(func() {
			s, err := e.adapter.List(e.Context())
			if err != nil {
				errs <- err.Error()
			} else if len(s.Sets) != 1 {
				errs <- "a list without the set"
			}
		})
	}
	finished := make(chan struct{})
	go func() { group.Wait(); close(finished) }()
	select {
	case <-finished:
	case <-time.After(e.world.patience()):
		e.Fatalf("list in parallel: still not done after %v", e.world.patience())
	}
	close(errs)
	for text := range errs {
		e.Errorf("list in parallel: %s", text)
	}
}

// listsDuringWrites lets every write begin when a list has just begun.
func listsDuringWrites(e *env) {
	key := e.key("www", record.A)
	e.put(key, one, two)
	e.call(key) // becomes the holder
	lister, begun, stop, problem := e.hand.Another(), make(chan struct{}), make(chan struct{}), make(chan string, 1)
	go func() {
		defer close(problem)
		for {
			select {
			case <-stop:
				return
			case begun <- struct{}{}:
			}
			if text := wholeList(e, lister, key); text != "" {
				problem <- text
				return
			}
		}
	}()
	next := func() bool {
		select {
		case <-begun:
			return true
		case text := <-problem:
			e.Errorf("list during a write: %s", text)
			return false
		}
	}
	for range 5 {
		if !next() {
			return
		}
		e.away(key, []string{two}, pause(key, one))
		if !next() {
			return
		}
		e.add(key, resume(key, one))
	}
	close(stop)
	if text, found := <-problem; found {
		e.Errorf("list during a write: %s", text)
	}
}

// wholeList is empty when a list shows both values and one of them live.
func wholeList(e *env, lister provider.Adapter, key record.Key) string {
	s, err := lister.List(e.Context())
	switch {
	case err != nil:
		return err.Error()
	case len(s.Set(key).Answers) != 2 || len(s.Set(key).Live()) == 0:
		return fmt.Sprintf("it shows half of the write: %+v", s.Set(key))
	}
	return ""
}
