package config

import (
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"sidestep/pkg/check"
)

// How a canary target is probed. Any answer proves that this node sees the
// world, so an HTTP answer may be an error of the other side; one of 500 and
// above may just as well come from a gateway of our own that lost its uplink.
const (
	canaryEvery   = 5 * time.Second
	canaryTimeout = 2 * time.Second
)

var canaryStatus = check.StatusRange{Low: 200, High: 499}

// canary reads what is probed to find out whether this node sees the world.
func (b *builder) canary(it *item) {
	if it.shape != mapping {
		return
	}
	first := map[string]*item{}
	for _, target := range it.at("targets").each() {
		spec, address := b.canaryTarget(target)
		if spec == nil {
			continue
		}
		if other := first[spec.Name]; other != nil {
			b.fail(target.pos, target.path(), fmt.Sprintf("%s is there twice, first at %s", spec.Name, other.pos), "remove one of them")
			continue
		}
		first[spec.Name] = target
		b.cfg.Canary.Targets = append(b.cfg.Canary.Targets, CanaryTarget{Spec: spec, Address: address})
		b.canaries = append(b.canaries, target)
	}
	targets, need := it.at("targets"), it.at("need")
	b.cfg.Canary.Need = get[int](need)
	switch n := len(targets.items); {
	case targets.shape == list && n == 0:
		b.fail(targets.pos, targets.path(), "expected at least one target, got an empty list", "without a canary: remove the key canary")
	case targets.shape == list && b.cfg.Canary.Need > n:
		b.fail(need.pos, need.path(), fmt.Sprintf("expected at most the number of targets, %d, got %d", n, b.cfg.Canary.Need), "")
	}
}

// canaryTarget reads one target; nil when it was refused.
func (b *builder) canaryTarget(it *item) (spec *check.Spec, address string) {
	if it.shape != mapping {
		return nil, ""
	}
	tcp, web := it.at("tcp"), it.at("http")
	if it.has("tcp") == it.has("http") {
		b.fail(it.pos, it.path(), "expected one of tcp and http", "give each its own element of the list")
		return nil, ""
	}
	spec = &check.Spec{Interval: canaryEvery, Timeout: canaryTimeout, Fall: 1, Rise: 1}
	if at := get[string](tcp); at != "" {
		host, port, _ := splitHostPort(at, "")  // the schema made it ADDR:PORT
		n, _ := strconv.ParseUint(port, 10, 16) // and parsed the port
		spec.Name, spec.Kind, spec.TCP = at, check.KindTCP, &check.TCP{Port: uint16(n)}
		return spec, host
	}
	h, ok := web.value.(check.HTTP)
	if !ok {
		return nil, ""
	}
	h.Method, h.Status = http.MethodGet, []check.StatusRange{canaryStatus}
	spec.Name, spec.Kind, spec.HTTP = h.URL(), check.KindHTTP, &h
	return spec, h.Host
}

// fewAddresses is below what it takes to tell the failure of many targets from
// the failure of this node by numbers alone.
const fewAddresses = 3

// canaryRules checks the canary against the addresses that record sets rest on.
func (b *builder) canaryRules(it *item) {
	if it.shape == absent {
		b.adviseCanary()
		return
	}
	own := map[string]bool{}
	for _, spec := range b.cfg.Records {
		own[spec.Key.Name.Unrooted()] = true
		for _, a := range spec.Answers {
			own[a.Probe], own[a.Value] = true, true
		}
	}
	for i, target := range b.cfg.Canary.Targets {
		if at := b.canaries[i]; own[target.Address] {
			b.warn(at.pos, at.path(), target.Address+" is an answer, or a name that is steered: when it fails, nobody can tell whether it or this node is cut off", "name something that fails for other reasons")
		}
	}
	b.adviseAddress()
}

// adviseAddress warns where the canary cannot pass without a resolver: one that
// fails makes this node blind, although it sees its targets by their addresses.
func (b *builder) adviseAddress() {
	var names []int
	for i, target := range b.cfg.Canary.Targets {
		if _, err := netip.ParseAddr(target.Address); err != nil {
			names = append(names, i)
		}
	}
	canary := b.cfg.Canary
	if addresses := len(canary.Targets) - len(names); len(names) > 0 && addresses < canary.Need {
		at := b.canaries[names[0]]
		b.warn(at.pos, at.path(), fmt.Sprintf("%s is a name, and %d of %d targets have to answer: while this machine's resolver fails, nothing counts and nothing is written",
			canary.Targets[names[0]].Address, canary.Need, len(canary.Targets)), "name an address beside it or in its place, as {tcp: ADDR:PORT}")
	}
}

// adviseCanary warns where nothing tells an outage of this node from one of its
// targets: they are few, and on loopback there is no network that could fail.
func (b *builder) adviseCanary() {
	probed, beyond := map[string]bool{}, false
	for _, spec := range b.cfg.Records {
		for _, a := range spec.Answers {
			probed[a.Probe] = true
			beyond = beyond || !isLoopback(joinHostPort(a.Probe, "0"))
		}
		if len(probed) >= fewAddresses {
			return
		}
	}
	if beyond {
		b.warn(Position{File: b.file}, "canary", fmt.Sprintf("missing, with fewer than %d addresses: when this node loses its own network, they all look down", fewAddresses),
			"name something beyond your uplink that answers always: canary: {targets: [{tcp: ADDR:PORT}]}")
	}
}
