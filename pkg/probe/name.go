package probe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/resolve"
)

// maxAddresses is how many addresses of one name are probed.
const maxAddresses = 16

// probeName resolves a name and probes each of its addresses as spec says, side
// by side, within one deadline that covers the question, too.
func (p *Prober) probeName(ctx context.Context, spec *check.Spec, name string) check.Result {
	start := p.clock()
	ctx, cancel := context.WithTimeout(ctx, timeout(spec))
	defer cancel()
	found, f := p.find(ctx, spec, name)
	var result check.Result
	if f != nil {
		result = check.Result{Outcome: f.outcome, Phase: f.phase, Cause: f.cause, Detail: clean(f.detail)}
	} else {
		result = found.judge(p.probeEach(ctx, spec, name, found.probed))
		result.Detail = clean(result.Detail)
	}
	if result.Outcome != check.Pass {
		result.End = p.clock()
	}
	if result.Source == "" && spec.Source.IsValid() {
		result.Source = spec.Source.String()
	}
	result.Target, result.Start = check.Target{Check: spec.Name, Address: name}, start
	return result
}

// found is what a name was found to stand for.
type found struct {
	probed []netip.Addr
	missed string // what is not probed, and why; empty when everything is
}

// find resolves a name, and sees that the way to its addresses does not lead
// through what sidestep steers. The question may take half of the time, so that
// a slow resolver does not make a target fail.
func (p *Prober) find(ctx context.Context, spec *check.Spec, name string) (out found, f *failure) {
	defer func() {
		if cause := recover(); cause != nil {
			p.options.Logger.Error("resolving panicked", "check", spec.Name, "name", name, "stack", string(debug.Stack()))
			f = unknown(check.PhaseResolve, "resolving panicked, please report it: %v", cause)
		}
	}()
	asking, cancel := context.WithTimeout(ctx, half(ctx))
	defer cancel()
	answer, err := resolve.Lookup(asking, p.options.Resolver, name, familyOf(spec))
	if p.options.Steered != nil {
		for _, by := range answer.Names {
			if set, isOurs := p.options.Steered(by); isOurs {
				return found{}, unknown(check.PhaseResolve, "%s; add probe: ADDRESS to the answer", throughOurs(name, by, set))
			}
		}
	}
	if err != nil {
		return found{}, unresolved(ctx, spec, err)
	}
	return sift(answer, p.mayLeadHere(name)), nil
}

// mayLeadHere reports whether a name may have an address of loopback: one of
// localhost (RFC 6761 section 6.3) always, others where the config says so.
func (p *Prober) mayLeadHere(name string) bool {
	local := strings.HasSuffix("."+strings.TrimSuffix(strings.ToLower(name), "."), ".localhost")
	return local || p.options.Loopback != nil && p.options.Loopback()
}

// half is half of the time that is left.
func half(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline() // probeName has set one
	return time.Until(deadline) / 2
}

// familyOf is the family that a check can reach: that of its source.
func familyOf(spec *check.Spec) resolve.Family {
	switch {
	case !spec.Source.IsValid():
		return resolve.Both
	case spec.Source.Is4():
		return resolve.IPv4
	}
	return resolve.IPv6
}

// throughOurs says how a name leads to a record set of our own.
func throughOurs(name, by, set string) string {
	way := name
	if by != name {
		way += " resolves through " + by
	}
	if set != by {
		way += ", covered by " + set
	}
	return way + ", which sidestep steers: the check would follow its own writes"
}

// unresolved judges why a name gave no address: its own fault when every
// resolver would say so, else ours.
func unresolved(ctx context.Context, spec *check.Spec, err error) *failure {
	if errors.Is(ctx.Err(), context.Canceled) {
		return unknown(check.PhaseResolve, "probe was stopped before its outcome was known")
	}
	negative, ok := errors.AsType[*resolve.NoAddressError](err)
	switch {
	case !ok:
		return unknown(check.PhaseResolve, "%v; mend the resolver, or name another in %s", err, resolve.DefaultFile)
	case negative.Exists && familyOf(spec) != resolve.Both:
		return unknown(check.PhaseResolve, "%s has no address of the family of the check's source %s: give the check another source, or none",
			negative.Name, spec.Source)
	}
	return fail(check.PhaseResolve, check.CauseUnreachable, "%v", negative)
}

// sift chooses the addresses that are probed, the families by turns.
func sift(answer resolve.Answer, loopback bool) found {
	var out found
	var missed, refused []string
	if answer.Partial != nil {
		missed = append(missed, answer.Partial.Error())
	}
	var families [2][]netip.Addr
	for _, addr := range answer.Addresses {
		switch what := undialled(addr, loopback); {
		case what != "":
			refused = append(refused, fmt.Sprintf("%s is %s", addr, what))
		case addr.Is4():
			families[0] = append(families[0], addr)
		default:
			families[1] = append(families[1], addr)
		}
	}
	usable := len(families[0]) + len(families[1])
	for i := 0; len(out.probed) < min(usable, maxAddresses); i++ {
		for _, family := range families {
			if i < len(family) && len(out.probed) < maxAddresses {
				out.probed = append(out.probed, family[i])
			}
		}
	}
	if left := usable - len(out.probed); left > 0 {
		missed = append(missed, fmt.Sprintf("%d more are not probed, as %d at most are", left, maxAddresses))
	}
	if len(refused) > 0 {
		missed = append(missed, fmt.Sprintf("%s, perhaps of a filtering resolver: name another in %s, or give the answer probe: ADDRESS",
			strings.Join(refused[:min(len(refused), 2)], ", "), resolve.DefaultFile))
	}
	out.missed = strings.Join(missed, "; ")
	return out
}

// undialled names what kind of address is never dialled; empty when it may be.
// They would lead back to this machine or to its neighbours, whatever the name
// is meant to be. A resolver that filters answers so, which says nothing of the
// target: they are not its fault. Private addresses are those of targets inside.
func undialled(addr netip.Addr, loopback bool) string {
	switch {
	case addr.IsLoopback() && !loopback:
		return "an address of this machine"
	case addr.IsUnspecified():
		return "the unspecified address"
	case addr.IsMulticast():
		return "a multicast address"
	case addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "the broadcast address"
	case addr.IsLinkLocalUnicast():
		return "a link-local address"
	case addr.Is4In6():
		return "an IPv4 address mapped into IPv6"
	}
	return ""
}

// probeEach probes addresses side by side. It waits for all of them also when
// one has passed, so that a name of which a part is dead is seen.
func (p *Prober) probeEach(ctx context.Context, spec *check.Spec, name string, addresses []netip.Addr) []check.Result {
	results := make([]check.Result, len(addresses))
	var probed sync.WaitGroup
	for i, addr := range addresses {
		probed.Go(func() { results[i] = p.probeAddress(ctx, spec, name, addr.String()) })
	}
	probed.Wait()
	return results
}

// judge adds up what was found at each address: one pass is a pass; a failure
// needs all of them to have failed, and nothing that was not seen.
func (f found) judge(results []check.Result) check.Result {
	var passed, failed, unknown *check.Result // the first of each
	bad := 0
	for i := range results {
		r := &results[i]
		switch r.Outcome {
		case check.Pass:
			if passed == nil || r.End < passed.End {
				passed = r
			}
		case check.Fail:
			bad++
			failed = first(failed, r)
		default:
			unknown = first(unknown, r)
		}
	}
	words := summary(bad, len(results), failed)
	switch {
	case passed != nil:
		return check.Result{Outcome: check.Pass, Detail: words, Source: passed.Source, End: passed.End}
	case unknown != nil:
		words = join(words, "unknown at "+reason(unknown))
		return check.Result{Outcome: check.Unknown, Phase: unknown.Phase, Cause: unknown.Cause, Detail: words, Source: unknown.Source}
	case f.missed != "":
		return check.Result{Outcome: check.Unknown, Phase: check.PhaseResolve, Cause: check.CauseLocal, Detail: join(words, f.missed)}
	}
	out := *failed
	out.Detail = words
	for _, r := range results {
		out.Clock = out.Clock || r.Clock // without that fault it might have passed
	}
	return out
}

func first(known, next *check.Result) *check.Result {
	if known != nil {
		return known
	}
	return next
}

// summary says how many addresses failed, and why the first did; empty when
// none failed.
func summary(bad, all int, failed *check.Result) string {
	if bad == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d addresses failed, first %s", bad, all, reason(failed))
}

func reason(r *check.Result) string { return r.Target.Address + ": " + r.Detail }

func join(parts ...string) string {
	if parts[0] == "" {
		parts = parts[1:]
	}
	return strings.Join(parts, "; ")
}
