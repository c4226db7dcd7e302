package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

func (b *builder) buildRecords(records *item) {
	b.cfg.Sources.Records = map[record.Key]Position{}
	if len(records.items) == 0 && records.shape != mapping && !b.opts.AllowNoRecords {
		b.fail(records.pos, "records", "expected at least one record set, got none", "without one there is nothing to steer")
	}
	for _, it := range records.items {
		if it.shape == mapping {
			b.record(it)
		}
	}
}

func (b *builder) record(it *item) {
	zone, name := b.recordName(it)
	spec := &steer.Spec{
		Key:      record.Key{Zone: zone, Name: name, Variant: get[string](it.at("variant"))},
		TTL:      b.ttl(it.at("ttl")),
		MinLive:  get[int](it.at("min_live")),
		AskFirst: b.adopt(it) == AdoptAsk,
	}
	b.values(it, spec)
	b.policy(it, spec)
	b.allDown(it, spec)
	b.checkRefs(it, spec)
	b.standbyOnly(it, spec)
	b.traits(it, spec)
	vantages := b.vantages(it.at("vantages"))
	if zone != "" && spec.Key.Type != "" {
		put(&b.cfg.Vantages.Records, spec.Key, vantages)
		b.addRecord(it, spec)
	}
}

func (b *builder) adopt(it *item) Adopt {
	if own := get[string](it.at("adopt")); own != "" {
		return Adopt(own)
	}
	return b.cfg.Adopt
}

// recordName reads name and zone. Without zone the name says itself where it
// is; a short name is enough where there is only one zone.
func (b *builder) recordName(it *item) (zone, name record.Name) {
	at := it.at("name")
	if at.shape != scalar {
		return "", ""
	}
	if it.has("zone") || len(b.zones) == 1 && isShort(at.text) {
		return b.nameInZone(it, at)
	}
	name, err := record.ParseName(at.text)
	if err != nil {
		b.fail(at.pos, at.path(), err.Error(), "")
		return "", ""
	}
	zoneItem := b.zoneOf(name)
	if zoneItem == nil {
		b.fail(at.pos, at.path(), fmt.Sprintf("the name %s is in none of the zones", name), known("", b.zoneNames()))
		return "", ""
	}
	return get[record.Name](zoneItem.at("zone")), name
}

// isShort reports whether a name can only be meant below a zone.
func isShort(s string) bool { return !strings.Contains(strings.TrimSpace(s), ".") }

func (b *builder) nameInZone(it, at *item) (zone, name record.Name) {
	if it.has("zone") {
		zone = get[record.Name](it.at("zone"))
		if zone != "" && b.zones[zone] == nil {
			b.fail(it.at("zone").pos, it.at("zone").path(), fmt.Sprintf("the zone %s is not among the zones", zone), known(zone.Unrooted(), b.zoneNames()))
			return "", ""
		}
	} else {
		for only := range b.zones {
			zone = only
		}
	}
	if zone == "" {
		return "", ""
	}
	name, err := record.ParseNameIn(at.text, zone)
	if err != nil {
		b.fail(at.pos, at.path(), err.Error(), "")
		return "", ""
	}
	return zone, name
}

// Bounds of a time to live that fails over in reasonable time and does not
// burden the name servers.
const (
	lowTTL  = 30 * time.Second
	highTTL = time.Hour
)

func (b *builder) ttl(it *item) time.Duration {
	ttl := get[time.Duration](it)
	switch {
	case ttl != 0 && ttl < lowTTL:
		b.warn(it.pos, it.path(), fmt.Sprintf("a TTL of %s is below 30s: many resolvers and providers raise it", short(ttl)), "")
	case ttl > highTTL:
		b.warn(it.pos, it.path(), fmt.Sprintf("a TTL of %s is above 1h: resolvers keep a dead answer that long", short(ttl)), "")
	}
	return ttl
}

func (b *builder) policy(it *item, spec *steer.Spec) {
	if n := len(it.at("answers").items); it.has("min_live") && spec.MinLive > n && n > 0 {
		b.fail(it.at("min_live").pos, it.at("min_live").path(), fmt.Sprintf("expected at most the number of answers, %d, got %d", n, spec.MinLive), "")
	}
	policy := it.at("policy")
	if policy.shape != absent && policy.value == nil {
		return // reported; what else belongs to it cannot be told
	}
	spec.Policy = steer.Policy(get[string](policy))
	b.weights(it, spec)
	if spec.Policy != steer.Priority {
		b.onlyPriority(it)
		return
	}
	spec.MaxLive = get[int](it.at("max_live"))
	if it.has("min_live") && spec.MinLive > spec.MaxLive {
		b.fail(it.at("min_live").pos, it.at("min_live").path(), fmt.Sprintf("expected at most max_live, %d, got %d", spec.MaxLive, spec.MinLive), "raise max_live")
	}
	spec.Failback = steer.Failback{
		Manual: get[string](it.at("failback", "mode")) == "manual",
		Hold:   get[time.Duration](it.at("failback", "hold")),
	}
}

// onlyPriority refuses what means something only where position counts.
func (b *builder) onlyPriority(it *item) {
	for _, key := range []string{"max_live", "failback"} {
		if it.has(key) {
			b.fail(it.at(key).keyPos, it.at(key).path(), "only policy: priority has this key", "add policy: priority, or remove the key")
		}
	}
}

func (b *builder) allDown(it *item, spec *steer.Spec) {
	at := it.at("on_all_down")
	spec.OnAllDown = steer.OnAllDown(get[string](at))
	hasList := len(it.at("fallback").items) > 0
	switch {
	case it.at("fallback").shape == list && !hasList:
		b.fail(it.at("fallback").pos, it.at("fallback").path(), "expected at least one value, got an empty list", "remove the key")
	case spec.OnAllDown == "" && hasList:
		spec.OnAllDown = steer.Fallback
	case spec.OnAllDown == "":
		spec.OnAllDown = steer.Keep
	case spec.OnAllDown == steer.Fallback && !hasList:
		b.fail(at.pos, at.path(), "on_all_down: fallback needs a fallback list", "add fallback: [VALUE]")
	case spec.OnAllDown != steer.Fallback && hasList:
		b.fail(at.pos, at.path(), fmt.Sprintf("a fallback list beside on_all_down: %s would never be used", spec.OnAllDown), "remove one of them")
	}
}

func (b *builder) checkRefs(it *item, spec *steer.Spec) {
	refs := it.at("check")
	seen := map[string]bool{}
	for _, ref := range refs.each() {
		name := get[string](ref)
		switch {
		case name == "":
		case seen[name]:
			b.fail(ref.pos, ref.path(), fmt.Sprintf("the check %s is named twice", name), "")
		case b.cfg.Checks[name] == nil:
			b.fail(ref.pos, ref.path(), fmt.Sprintf("there is no check %s", quote(name)), known(name, b.checkNames()))
		default:
			spec.Checks = append(spec.Checks, name)
			b.sourceFamily(ref, name, spec)
		}
		seen[name] = true
	}
	if len(refs.each()) == 0 && refs.shape != mapping {
		b.withoutCheck(it, spec)
	}
}

// withoutCheck wants scenarios that decide about the answers where no check
// does.
func (b *builder) withoutCheck(it *item, spec *steer.Spec) {
	decided := func(a steer.Answer) bool { return a.When != "" || a.Mode == steer.Standby }
	if !slices.ContainsFunc(entries(it.at("answers")), func(e entry) bool { return e.whole != nil && e.whole.has("when") }) {
		b.fail(it.pos, it.path(), "expected a check, got none: nothing would ever take an answer out", "add check: NAME, or when: SCENARIO to the answers")
		return
	}
	for i, a := range spec.Answers {
		if !decided(a) && len(spec.Answers) == len(it.at("answers").items) {
			at := it.at("answers").items[i]
			b.warn(at.pos, at.path(), fmt.Sprintf("nothing would ever take %s out: the record set has no check, and this answer has no when", a.Value), "add check: NAME to the record set, or when: SCENARIO to the answer")
		}
	}
}

// standbyOnly refuses a record set that nothing is answered with before somebody
// calls it.
func (b *builder) standbyOnly(it *item, spec *steer.Spec) {
	if len(spec.Answers) > 0 && !slices.ContainsFunc(spec.Answers, func(a steer.Answer) bool { return a.Mode != steer.Standby }) {
		at := it.at("answers")
		b.fail(at.pos, at.path(), "every answer is a standby: nothing would be answered with until one is called", "leave mode: standby out of at least one answer")
	}
}

// sourceFamily refuses a source from which an answer cannot be reached.
func (b *builder) sourceFamily(ref *item, name string, spec *steer.Spec) {
	for i := range spec.Len() {
		if !b.reachable(ref, name, spec.At(i).Probe) {
			return
		}
	}
}

// reachable refuses an address that a check cannot reach from its source.
func (b *builder) reachable(at *item, name, address string) bool {
	spec := b.cfg.Checks[name]
	if spec == nil || !spec.Source.IsValid() {
		return true
	}
	to, err := netip.ParseAddr(address)
	if err != nil || to.Is4() == spec.Source.Is4() {
		return true
	}
	b.fail(at.pos, at.path(), fmt.Sprintf("the check %s leaves from %s, which cannot reach %s of the other family", name, spec.Source, to), "make one check for IPv4 and one for IPv6")
	return false
}
