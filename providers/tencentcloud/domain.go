package tencentcloud

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"sidestep/pkg/provider"
)

// domain is what the API calls the zone, and which plan it has.
type domain struct {
	name   string // empty until the API was asked
	id     string // in the whole of the service; empty where the key may not describe the domain
	grade  string // "DP_FREE"
	minTTL time.Duration
}

// freeGrades are the plans without a fee, of old and new accounts.
var freeGrades = []string{"D_FREE", "DP_FREE"}

func (a *Adapter) domainKnown() domain {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.domain
}

// name is the domain as the API takes it.
func (a *Adapter) name() string {
	if d := a.domainKnown(); d.name != "" {
		return d.name
	}
	return a.zone.Unrooted()
}

// spelledNames are the forms in which the API may know the zone: A-labels, and
// Unicode where that differs.
func (a *Adapter) spelledNames() []string {
	names := []string{a.zone.Unrooted()}
	if text, err := idna.ToUnicode(names[0]); err == nil && text != names[0] {
		names = append(names, text)
	}
	return names
}

var notThere = []string{"InvalidParameterValue.DomainNotExists", "InvalidParameter.DomainInvalid", "ResourceNotFound.NoDataOfDomain"}

// describeDomain asks for the domain under each of its names.
func (a *Adapter) describeDomain(ctx context.Context) (*domainInfo, error) {
	op := fmt.Sprintf("find domain %s", a.zone)
	var first error
	for _, name := range a.spelledNames() {
		var out domainReply
		err := a.do(ctx, request{op: op, action: "DescribeDomain", params: domainParams{name}}, &out)
		switch {
		case err == nil && out.Info == nil:
			return nil, provider.Failf(provider.Retryable, op, "", "the answer has no DomainInfo")
		case err == nil:
			a.learn(name, *out.Info)
			return out.Info, nil
		case !slices.Contains(notThere, code(err)):
			return nil, err
		case first == nil:
			first = err
		}
	}
	return nil, first
}

func (a *Adapter) learn(name string, info domainInfo) {
	d := domain{name: name, grade: info.Grade}
	if info.ID != 0 {
		d.id = strconv.FormatUint(info.ID, 10)
	}
	if slices.Contains(freeGrades, info.Grade) {
		d.minTTL = freeTTL
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.domain = d
}

// resolve finds out the domain's name and plan once. A key may list and edit
// without being allowed to describe the domain: then the list tells the rest.
func (a *Adapter) resolve(ctx context.Context) {
	if a.domainKnown().name != "" {
		return
	}
	if _, err := a.describeDomain(ctx); err != nil {
		a.log.Debug("the domain could not be described", "zone", string(a.zone), "error", err)
		if provider.ClassOf(err) == provider.Permanent && !slices.Contains(notThere, code(err)) {
			a.learn(a.zone.Unrooted(), domainInfo{})
		}
	}
}

// kept is the TTL that the domain's plan keeps of one that is asked for.
func (a *Adapter) kept(ttl time.Duration) time.Duration {
	if least := a.domainKnown().minTTL; ttl < least {
		a.warnTTL(ttl, least)
		return least
	}
	return min(ttl, maxTTL)
}

// warnTTL says once that TTLs are raised.
func (a *Adapter) warnTTL(asked, kept time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.warned {
		return
	}
	a.warned = true
	a.log.Warn("the domain's plan keeps no TTL as small as the one asked for", "zone", string(a.zone), "asked", asked.String(), "effective", kept.String(), "hint", hintTTL)
}

// raise notes that the plan refused a TTL, and what it is raised to.
func (a *Adapter) raise() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.domain.minTTL = max(a.domain.minTTL, freeTTL)
}

// Inspect asks for the domain and its first record. That the key may edit is
// only seen by a write, and none is made.
func (a *Adapter) Inspect(ctx context.Context) ([]string, error) {
	info, err := a.describeDomain(ctx)
	if err != nil {
		return nil, err
	}
	lines := []string{
		fmt.Sprintf("domain %s: status %s, plan %s (%s), %d records", info.Domain, info.Status, info.Title, info.Grade, info.Records),
	}
	if least := a.domainKnown().minTTL; least > 0 {
		lines = append(lines, fmt.Sprintf("the plan keeps no TTL below %d s", int(least/time.Second)))
	}
	if info.DNS != "" {
		lines = append(lines, fmt.Sprintf("the parent zone does not lead to DNSPod: name servers %s, expected %s", listed(info.Actual), listed(info.Expected)))
	}
	if info.Status != enabled {
		return lines, &provider.Error{
			Class: provider.Permanent, Op: fmt.Sprintf("inspect domain %s", a.zone), Code: info.Status,
			Err: fmt.Errorf("expected status %s, got %s", enabled, info.Status), Hint: hintDomain,
		}
	}
	if _, err := a.page(ctx, 0, 1); err != nil {
		return lines, err
	}
	return append(lines, "the key may list the records; whether it may edit them is only seen when something is written"), nil
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
