package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/engine"
	"sidestep/pkg/record"
	"sidestep/pkg/store"
)

// History gives events of this node's journal. It is read outside the loop, which
// must not wait for a disk.
func (d *Daemon) History(ctx context.Context, request control.HistoryRequest, each func(json.RawMessage) error) (control.History, error) {
	var pick *eventPick
	err := errStopped
	d.ask(func(*engine.Engine) { pick, err = newEventPick(d.config, request) })
	if err != nil {
		return control.History{}, err
	}
	return pick.read(ctx, d.options.Config.State.Dir, each)
}

// HistorySaved gives them where no daemon runs, from the state directory. It asks
// nobody and changes nothing.
func HistorySaved(ctx context.Context, c *config.Config, request control.HistoryRequest) (control.History, error) {
	pick, err := newEventPick(c, request)
	if err != nil {
		return control.History{}, err
	}
	var events []json.RawMessage
	answer, err := pick.read(ctx, c.State.Dir, func(event json.RawMessage) error {
		events = append(events, event)
		return nil
	})
	answer.Events = events
	return answer, err
}

// eventPick picks events of the journal.
type eventPick struct {
	request control.HistoryRequest
	target  map[string]bool // in each of its spellings; nil for all
	name    map[string]bool // a record set and what it rests on; nil for all
	set     record.Name     // the record set; empty for all
	zone    record.Name     // empty for all
}

func newEventPick(c *config.Config, r control.HistoryRequest) (*eventPick, error) {
	p := &eventPick{request: r}
	for _, kind := range r.Kinds {
		if kinds := control.HistoryKinds(); !slices.Contains(kinds, kind) {
			hint := ""
			if near := config.Nearest(kind, kinds); near != "" {
				hint = "perhaps " + near
			}
			return nil, refusedPick(hint, "kind: expected %s, got %q", strings.Join(kinds, ", "), kind)
		}
	}
	if !r.Since.IsZero() && !r.Until.IsZero() && !r.Since.Before(r.Until) {
		return nil, refusedPick("", "expected since to be before until, got %s and %s", r.Since.UTC().Format(time.RFC3339), r.Until.UTC().Format(time.RFC3339))
	}
	if r.Last < 0 {
		return nil, refusedPick("", "last: expected a whole number above 0, got %d", r.Last)
	}
	if r.Target != "" {
		p.target = spellings(r.Target)
	}
	if r.Zone != "" {
		var err error
		if p.zone, err = record.ParseName(r.Zone); err != nil {
			return nil, refusedPick("", "zone: %v", err)
		}
	}
	if r.Name != "" {
		if err := p.pickName(c, r.Name); err != nil {
			return nil, refusedPick("", "name: %v", err)
		}
	}
	return p, nil
}

func refusedPick(hint, format string, args ...any) error {
	return &control.Error{Message: "history: " + fmt.Sprintf(format, args...), Hint: hint, Exit: control.ExitUsage}
}

// spellings are the ways in which a journal may have a target.
func spellings(text string) map[string]bool {
	text = strings.ToLower(text)
	all := map[string]bool{text: true}
	check, address, hasCheck := strings.Cut(text, "@")
	if !hasCheck {
		check, address = "", text
	}
	if at, err := netip.ParseAddr(address); err == nil {
		address = at.Unmap().String()
	} else if name, err := record.ParseName(address); err == nil {
		address = string(name)
	}
	if hasCheck {
		address = check + "@" + address
	}
	all[address] = true
	return all
}

// pickName picks a record set of the config, by its whole name or a short one, and
// what its answers rest on; or a name that the config does not have any more.
func (p *eventPick) pickName(c *config.Config, text string) error {
	p.name = map[string]bool{}
	for _, spec := range c.Records {
		if whole, err := record.ParseNameIn(text, spec.Key.Zone); err != nil || whole != spec.Key.Name {
			continue
		}
		p.set = spec.Key.Name
		for i := range spec.Len() {
			a := spec.At(i)
			for _, about := range []string{a.Value, a.Site} {
				p.name[about] = true
			}
			for _, check := range spec.Checks {
				p.name[check+"@"+a.Probe] = true
			}
		}
	}
	delete(p.name, "")
	if p.set != "" {
		return nil
	}
	var err error
	p.set, err = record.ParseName(text)
	return err
}

// eventLine is what is read of a line of the journal to pick it.
type eventLine struct {
	Target   string `json:"target"`
	Address  string `json:"address"`
	Zone     string `json:"zone"`
	Name     string `json:"name"`
	Value    string `json:"value"`
	Replaces string `json:"replaces"`
}

// about is the name that a line is about: of a record set, which the journal writes
// "NAME TYPE", or of a zone; or whatever else it is about.
func (l eventLine) about() string {
	if l.Name != "" {
		return l.Name
	}
	name, _, _ := strings.Cut(l.Target, " ")
	return name
}

// picks reports whether an event is wanted; damaged that it cannot be told.
func (p *eventPick) picks(raw []byte) (wanted, damaged bool) {
	var line eventLine
	if err := json.Unmarshal(raw, &line); err != nil {
		return false, true
	}
	return p.ofTarget(line) && p.ofName(line) && p.ofZone(line), false
}

func (p *eventPick) ofTarget(line eventLine) bool {
	return p.target == nil || p.target[line.Target] || p.target[line.Address] || p.target[line.Value] || p.target[line.Replaces] ||
		p.target[line.about()]
}

func (p *eventPick) ofName(line eventLine) bool {
	return p.name == nil || line.about() == string(p.set) || line.Name == "" && p.name[line.Target]
}

func (p *eventPick) ofZone(line eventLine) bool {
	if p.zone == "" {
		return true
	}
	if line.Zone != "" {
		return line.Zone == string(p.zone)
	}
	return line.about() == string(p.zone) || strings.HasSuffix(line.about(), "."+string(p.zone))
}

// read gives what is picked to each, oldest first.
func (p *eventPick) read(ctx context.Context, dir string, each func(json.RawMessage) error) (control.History, error) {
	var answer control.History
	var failed error
	latest := newest{most: p.request.Last}
	take := func(event json.RawMessage) error {
		if p.request.Last > 0 {
			latest.add(event)
			return nil
		}
		return each(event)
	}
	skipped, err := store.ReadJournal(dir, store.Filter{}, func(l store.Line) bool {
		if answer.Begins == nil {
			answer.Begins = &l.At
		}
		if failed = ctx.Err(); failed == nil {
			failed = p.take(l, take, &answer)
		}
		return failed == nil
	})
	answer.Damaged += skipped
	for _, event := range latest.list() {
		if failed == nil {
			failed = each(event)
		}
	}
	return answer, errors.Join(err, failed)
}

// take gives an event on if it is picked.
func (p *eventPick) take(l store.Line, each func(json.RawMessage) error, answer *control.History) error {
	r := p.request
	outside := !r.Since.IsZero() && l.At.Before(r.Since) || !r.Until.IsZero() && !l.At.Before(r.Until)
	if outside || len(r.Kinds) > 0 && !slices.Contains(r.Kinds, l.Kind) {
		return nil
	}
	wanted, damaged := p.picks(l.Raw)
	if damaged {
		answer.Damaged++
	}
	if !wanted {
		return nil
	}
	return each(whole(l))
}

// promised are the members that an event of a kind has, also where the journal leaves
// out one that is empty.
var promised = map[string][]string{
	"verdict": {"target", "address", "from", "to", "phase", "cause"},
	"write":   {"zone", "name", "type", "variant", "value", "action"},
}

// whole is a line of the journal with every member that an event of its kind has.
func whole(l store.Line) json.RawMessage {
	names := promised[l.Kind]
	if len(names) == 0 {
		return l.Raw
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(l.Raw, &members) != nil {
		return l.Raw // seen to be an object before
	}
	event := slices.Clone(l.Raw[:len(l.Raw)-1])
	for _, name := range names {
		if _, has := members[name]; !has {
			event = fmt.Appendf(event, `,%q:""`, name)
		}
	}
	return append(event, '}')
}

// newest keeps the last so many events.
type newest struct {
	most   int
	events []json.RawMessage
	next   int // where the oldest is, once there are so many
}

func (n *newest) add(event json.RawMessage) {
	if len(n.events) < n.most {
		n.events = append(n.events, event)
		return
	}
	n.events[n.next] = event
	n.next = (n.next + 1) % n.most
}

func (n *newest) list() []json.RawMessage {
	return append(slices.Clone(n.events[n.next:]), n.events[:n.next]...)
}
