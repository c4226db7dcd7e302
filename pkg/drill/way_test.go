package drill

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/observe"
	"sidestep/pkg/record"
)

// answered is a reply from an address.
func answered(address, identity string, status int) observe.Reply {
	return observe.Reply{Address: netip.AddrPortFrom(netip.MustParseAddr(address), 443), Identity: identity, Status: status}
}

// TestArrived asks of replies whether they came from where a way leads to.
func TestArrived(t *testing.T) {
	id, err := observe.ParseIdentity("header:X-Backend")
	if err != nil {
		t.Fatal(err)
	}
	via, err := observe.ParseVia("tcp://192.0.2.9:443")
	if err != nil {
		t.Fatal(err)
	}
	addresses := &rehearsal{
		plan: Plan{Type: record.A, Before: []string{"192.0.2.1"}, During: []string{"192.0.2.2"}}, backend: map[string]string{"192.0.2.1": "a", "192.0.2.2": "b"},
	}
	names := &rehearsal{
		plan: Plan{Type: record.CNAME, Before: []string{"lb1.example.net."}, During: []string{"lb2.example.net."}}, backend: map[string]string{"192.0.2.1": ""},
	}
	told := &rehearsal{plan: names.plan, backend: map[string]string{"192.0.2.1": "a"}}
	behind := &rehearsal{plan: addresses.plan, backend: map[string]string{"": "a"}}
	addresses.o.Watch.Request = &observe.Request{Identity: id}
	names.o.Watch.Request = &observe.Request{}
	told.o.Watch.Request = &observe.Request{Identity: id}
	behind.o.Watch.Request = &observe.Request{Identity: id, Via: via}
	for _, c := range []struct {
		what      string
		r         *rehearsal
		reply     observe.Reply
		out, back bool
	}{
		{"the old one", addresses, answered("192.0.2.1", "a", 200), false, true},
		{"the new one", addresses, answered("192.0.2.2", "b", 200), true, false},
		{"the new address with the old backend", addresses, answered("192.0.2.2", "a", 200), false, false},
		{"a failure", addresses, answered("192.0.2.2", "b", 502), false, false},
		{"a stranger", addresses, answered("192.0.2.3", "c", 200), false, false},
		{"an address of the old name", names, answered("192.0.2.1", "", 200), false, true},
		{"another address", names, answered("192.0.2.7", "", 404), true, false},
		{"another backend at the address of before", told, answered("192.0.2.1", "b", 200), true, false},
		{"the old backend at another address", told, answered("192.0.2.7", "a", 200), false, true},
		{"the old backend behind a gateway", behind, answered("192.0.2.9", "a", 200), false, true},
		{"another backend behind it", behind, answered("192.0.2.9", "b", 200), true, false},
		{"nobody known behind it", behind, answered("192.0.2.9", "", 200), false, false},
	} {
		for direction, want := range map[Direction]bool{Out: c.out, Back: c.back} {
			if got := c.r.arrived(newWay(direction, &c.r.plan, observe.Sample{}), c.reply); got != want {
				t.Errorf("way %s, %s: %v, want %v", direction, c.what, got, want)
			}
		}
	}
}

// TestAClockThatFallsBack counts as moved from the last time that it moved.
func TestAClockThatFallsBack(t *testing.T) {
	y := &Way{Began: time.Now()}
	c := &Clock{}
	for i, moved := range []bool{false, true, true, false, true} {
		y.note(c, moved, y.Began.Add(time.Duration(i)*time.Second), "x")
	}
	if !c.Moved || c.After != 4*time.Second || c.Back != 1 {
		t.Errorf("%+v", c)
	}
}

// TestTheWayBackOfWhatStood has a resolver that did not move out. As long as it stays
// there is nothing to time; when it leaves after all, there is.
func TestTheWayBackOfWhatStood(t *testing.T) {
	p := &Plan{Before: []string{"192.0.2.1"}, During: []string{"192.0.2.2"}}
	first := observe.Sample{Servers: []observe.View{{}}}
	out := newWay(Out, p, first)
	for _, c := range out.Clocks {
		c.Moved = c.Clock != observe.Resolver
	}
	y := newBack(out, p, first)
	var said []string
	r := &rehearsal{o: Options{Notice: func(text string) { said = append(said, text) }}}
	see := func(c *Clock, moved bool) {
		before := y.movedNow()
		y.note(c, moved, time.Now(), "x")
		r.noticeMoved(y, before)
	}
	resolver, written := y.clock(observe.Resolver), y.clock(Written)
	see(written, true)
	see(resolver, true)
	if written.Stood || !resolver.Stood || len(said) != 1 || !strings.Contains(said[0], "written moved") {
		t.Errorf("%+v %+v %q", written, resolver, said)
	}
	see(resolver, false)
	see(resolver, true)
	if resolver.Stood || len(said) != 2 {
		t.Errorf("%+v %q", resolver, said)
	}
}

// TestSilenceOnEachWay says of a daemon that does not answer what that means.
func TestSilenceOnEachWay(t *testing.T) {
	var said string
	r := &rehearsal{o: Options{Notice: func(text string) { said = text }}, report: &Report{}}
	for direction, want := range map[Direction]string{Out: "the drain is in force until 0001", Back: "the drain is taken back already"} {
		y := newWay(direction, &Plan{}, observe.Sample{})
		r.takeStatus(y, control.Status{}, errors.New("gone"))
		if r.noticeSilence(y, errors.New("gone")); !strings.Contains(said, want) || y.clock(Written).Seen != "the daemon does not answer" {
			t.Errorf("way %s: %s", direction, said)
		}
		y.clock(Written).Seen = "192.0.2.1"
		if r.takeStatus(y, control.Status{}, errors.New("gone")); y.clock(Written).Seen != "192.0.2.1" {
			t.Errorf("what was seen is gone: %+v", y.clock(Written))
		}
	}
}
