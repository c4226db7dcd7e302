package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/engine"
	"sidestep/pkg/health"
	"sidestep/pkg/notify"
	"sidestep/pkg/record"
)

// announcer is what the loop knows so as to tell people what happens. Everything in
// it but the notifier, which is safe for all, belongs to the loop.
type announcer struct {
	*notify.Notifier                          // nil in a one-shot command, which tells nobody
	rests            map[string]rest          // by target; nil while nobody is to be told
	troubles         map[record.Name]*trouble // zones that cannot be listed or written
	freezes          map[freezeKey]*calm      // that are in force
	taken            bool                     // what was saved was taken up
}

// rest is what rests on a target.
type rest struct {
	sets  []string
	zones []record.Name
}

// trouble is since when a zone is in it, and whether that was said.
type trouble struct {
	since time.Duration // boot time
	told  bool
}

// troubleAfter is how long a zone is in trouble before people are told.
const troubleAfter = time.Minute

func (d *Daemon) newAnnouncer() announcer {
	if d.options.Once {
		return announcer{}
	}
	node := d.config.Node.Name
	if d.options.ReadOnly {
		node += " (read-only)"
	}
	return announcer{
		troubles: map[record.Name]*trouble{}, freezes: map[freezeKey]*calm{},
		Notifier: notify.New(notify.Options{
			Node: node, Clock: d.clock, Logger: d.log,
			Changed: func() { d.send(func(*engine.Engine) { d.news = true }) },
		}),
	}
}

// setReceivers has the entries of a config told from now on.
func (d *Daemon) setReceivers(c *config.Config) {
	if d.people.Notifier == nil {
		return
	}
	var entries []notify.Entry
	for _, n := range c.Notify {
		r, err := n.Receiver()
		if err != nil { // the config was read with it
			d.log.Error("cannot notify", "error", err)
			continue
		}
		entries = append(entries, notify.Entry{To: d.sender(r), On: n.On})
	}
	d.people.Set(entries)
	if d.people.rests = nil; len(entries) > 0 {
		d.people.rests = restsOf(c)
	}
}

// sender is what sends to a receiver.
func (d *Daemon) sender(r *notify.Receiver) notify.Sender {
	if d.options.Sender != nil {
		return d.options.Sender(r)
	}
	return r
}

func restsOf(c *config.Config) map[string]rest {
	rests := map[string]rest{}
	for _, spec := range c.Records {
		for i := range spec.Len() {
			for _, name := range spec.Checks {
				id := name + "@" + spec.At(i).Probe
				r := rests[id]
				r.sets, r.zones = append(r.sets, spec.Key.Shown()), append(r.zones, spec.Key.Zone)
				rests[id] = r
			}
		}
	}
	return rests
}

// announce tells people of an event. It waits for nobody.
func (d *Daemon) announce(e notify.Event) {
	if d.people.rests == nil {
		return
	}
	e.At = d.clock.Wall()
	d.people.Tell(e)
}

// leaves reports whether another node tells of what concerns zones, or, of none, of
// this process as a whole: the node that leads does, and while none is known to lead,
// or as a shadow, every node for itself. It belongs to the loop.
func (d *Daemon) leaves(zones ...record.Name) bool {
	if d.options.ReadOnly || d.vacantFor("") > 0 {
		return false
	}
	if !d.leader.zoned || !d.leader.leads() {
		return !d.leader.leads()
	}
	if len(zones) == 0 {
		zones = zonesOf(d.options.Config)
	}
	for _, zone := range zones {
		if lead, leased := d.writer.Leadership(zone); !leased || lead.Leads || d.vacantFor(zone) > 0 {
			return false
		}
	}
	return true
}

// announceEntry tells people of a line of the journal. It belongs to the loop.
func (d *Daemon) announceEntry(e engine.Entry) {
	if d.people.rests == nil {
		return
	}
	rests := d.people.rests[e.Target]
	about := strings.TrimSuffix(e.Target, ".")
	switch {
	case e.Kind == "verdict" && e.To == health.Down:
		d.announce(notify.Event{
			Topic: notify.Down, About: e.Target, Cause: strings.Trim(string(e.Phase)+"/"+string(e.Cause), "/"), Text: e.Detail,
			Sets: rests.sets, Left: d.leaves(rests.zones...),
		})
	case e.Kind == "verdict" && e.To == health.Up:
		d.announce(notify.Event{Topic: notify.Up, About: e.Target, Left: d.leaves(rests.zones...)})
	case e.Kind == "guard" && e.By == "":
		d.announce(notify.Event{Topic: notify.Guard, About: about, Cause: e.Guard, Text: e.Detail, Left: d.leaves()})
	case e.Reminder:
		d.announce(notify.Event{
			Topic: notify.OverrideOld, About: about, Left: d.leaves(),
			Text: fmt.Sprintf("%s; set by %s; to end it: sidestep override clear %s --kind %s", e.Detail, e.Override.By, e.Override.Shown(), e.Override.Kind),
		})
	}
}

// announceWrites tells people what was written to a zone, or was perhaps.
func (d *Daemon) announceWrites(lines []writeLine) {
	for _, l := range lines {
		if l.Error != "" || l.Name == "" {
			continue // told of when it lasts; copies and marks concern nobody
		}
		key := record.Key{Zone: record.Name(l.Zone), Name: record.Name(l.Name), Type: record.Type(l.Type), Variant: l.Variant}
		text := l.Action + " " + strings.TrimSuffix(l.Value, ".")
		if l.Weight != nil {
			text += fmt.Sprintf(" weight %d", *l.Weight)
		}
		d.announce(notify.Event{Topic: notify.Write, About: key.Shown(), Cause: notify.Written, Text: text})
	}
}

// announceTrouble tells people of a zone that cannot be listed or written for a
// while, and of the end of that. It belongs to the loop.
func (d *Daemon) announceTrouble(zone record.Name, what string, err error) {
	if d.people.rests == nil {
		return
	}
	t, now := d.people.troubles[zone], d.clock.Boot()
	switch {
	case err == nil && t == nil:
	case err == nil:
		if t.told {
			d.announce(notify.Event{
				Topic: notify.Write, About: zone.Unrooted(), Left: d.leaves(zone),
				Text: fmt.Sprintf("can be listed and written again, after %s", (now - t.since).Round(time.Second)),
			})
		}
		delete(d.people.troubles, zone)
	case t == nil:
		d.people.troubles[zone] = &trouble{since: now}
	case !t.told && now-t.since >= troubleAfter && !d.leaves(zone):
		t.told = true
		d.announce(notify.Event{
			Topic: notify.Write, About: zone.Unrooted(),
			Text: fmt.Sprintf("cannot %s for %s: %v", what, (now - t.since).Round(time.Second), err),
		})
	}
}

// announceLeader tells people that this node leads, no longer does, or that none
// does. Each node says so of itself. It may be called from anywhere.
func (d *Daemon) announceLeader(zone record.Name, text string) {
	if d.people.Notifier == nil {
		return
	}
	if zone != "" {
		text = "zone " + zone.Unrooted() + ": " + text
	}
	d.people.Tell(notify.Event{Topic: notify.Leader, At: d.clock.Wall(), Text: text})
}

// takeOverNews has this node say what the one before may not have come to.
func (d *Daemon) takeOverNews() {
	if d.people.Notifier != nil {
		d.people.TakeOver()
	}
}

// compareNews sets right what people are to be told with what is so, after a reload
// or a restart. It belongs to the loop.
func (d *Daemon) compareNews() {
	if d.people.rests == nil || d.people.Down() == 0 {
		return
	}
	verdicts := map[string]health.Verdict{}
	for id, t := range d.engine.TargetStates() {
		verdicts[id] = t.Verdict
		if t.Counted != nil {
			verdicts[id] = t.Counted.Verdict
		}
	}
	d.people.Compare(func(target string) (known, up bool) {
		verdict, known := verdicts[target]
		return known, verdict == health.Up
	}, d.leaves())
}

// remind looks now and then for what waits for a person, and for freezes that have
// outlived their reason: something was down under them, and nothing is any more. Older than a day, the engine tells of
// them as of every override.
func (d *Daemon) remind(ctx context.Context) error {
	for {
		d.ask(func(e *engine.Engine) {
			d.lookForFreezes(e)
			d.announceWaits(e, yes{})
		})
		if !wait(ctx, time.Minute) {
			return nil
		}
	}
}

// takeUpNews takes up what was to be said when a snapshot was saved: once at the
// start, and again when another process saved since. It belongs to the loop.
func (d *Daemon) takeUpNews(saved *snapshot, another bool) {
	if d.people.Notifier == nil {
		d.kept = saved.Notify
		return
	}
	if another || !d.people.taken {
		d.people.taken = true
		d.restoreCalm(saved.Calm)
		d.people.Restore(saved.Notify)
		d.compareNews()
	}
}

// newsToSave is what is to be said, for a snapshot; a command keeps what it found.
func (d *Daemon) newsToSave() json.RawMessage {
	if d.people.Notifier == nil {
		return d.kept
	}
	return d.people.State()
}

// announceVacancy tells people that nobody leads, and with it what is down: until now
// it was left to a leader. It belongs to the loop.
func (d *Daemon) announceVacancy(zone record.Name, since time.Time) {
	if d.people.rests == nil {
		return
	}
	text := fmt.Sprintf("no leader since %s, as far as this node sees; until there is one no answer that dies is taken out", since.UTC().Format(time.RFC3339))
	if n := d.people.Down(); n > 0 {
		text += fmt.Sprintf("; targets that are down: %d", n)
	}
	d.announceLeader(zone, text)
	d.takeOverNews()
}
