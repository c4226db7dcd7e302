package observe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"sidestep/pkg/record"
)

// maxServers is how many name servers of a zone are looked at: more than the
// 13 names of the root have addresses.
const maxServers = 32

// dnsPort is where name servers listen (RFC 1035 section 4.2).
const dnsPort = 53

// FindServers finds the authoritative servers of a zone as its users find them:
// by its NS records, and the addresses of those of both families, all asked of
// the resolvers. They are sorted by name, IPv4 before IPv6, and each address is
// listed once. A name of a server without an address is left out, and an error
// says why there is none at all. It takes at most five seconds, or as long as
// the context lasts.
func FindServers(ctx context.Context, resolvers []netip.AddrPort, zone record.Name) ([]Server, error) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	ns, _ := lookThrough(ctx, resolvers, zone, "NS")
	if ns.Outcome != Answered || len(ns.Values) == 0 {
		return nil, fmt.Errorf("find the name servers of %s: resolver %s: %s", zone.Shown(), ns.Server, ns.saidNo())
	}
	names := ns.Values[:min(len(ns.Values), maxServers)]
	found := make([][]Server, len(names))
	missed := make([]string, len(names))
	var asked sync.WaitGroup
	for i, name := range names {
		asked.Go(func() { found[i], missed[i] = addressesOf(ctx, resolvers, canonicalName(name)) })
	}
	asked.Wait()
	servers := slices.Concat(found...)
	slices.SortStableFunc(servers, func(a, b Server) int { return strings.Compare(string(a.Name), string(b.Name)) })
	known := map[netip.AddrPort]bool{}
	servers = slices.DeleteFunc(servers, func(s Server) bool {
		twice := known[s.Addr]
		known[s.Addr] = true
		return twice
	})
	if len(servers) == 0 {
		return nil, fmt.Errorf("find the name servers of %s: none has an address: %s", zone.Shown(), strings.Join(slices.Compact(missed), ", "))
	}
	return servers[:min(len(servers), maxServers)], nil
}

// addressesOf are the addresses of one name server, or why there are none.
func addressesOf(ctx context.Context, resolvers []netip.AddrPort, name record.Name) (servers []Server, missed string) {
	var last View
	for _, family := range []record.Type{record.A, record.AAAA} {
		v, values := lookThrough(ctx, resolvers, name, family)
		for _, value := range values {
			if addr, err := netip.ParseAddr(value); err == nil {
				servers = append(servers, Server{Name: name, Addr: netip.AddrPortFrom(addr, dnsPort)})
			}
		}
		if !v.Outcome.Told() || last.Outcome == "" {
			last = v
		}
	}
	return servers, fmt.Sprintf("%s: %s", name.Unrooted(), last.saidNo())
}

// saidNo is in words why a view has no values.
func (v View) saidNo() string {
	switch {
	case v.Detail != "":
		return string(v.Outcome) + ": " + v.Detail
	case v.Outcome == AnsweredNXDomain:
		return "it does not exist (NXDOMAIN)"
	case v.Outcome == AnsweredNoData:
		return "there is none (NODATA)"
	case v.Outcome == "":
		return "nobody was asked"
	}
	return "it answered with an alias that leads nowhere"
}

// ParseServer reads a name server as people write it: ADDRESS or ADDRESS:PORT,
// IPv6 with a port in brackets.
func ParseServer(text string) (netip.AddrPort, error) {
	addr, err := parseServer(text)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("read name server %q: %w", text, err)
	}
	if addr.Port() == 0 {
		return netip.AddrPort{}, fmt.Errorf("read name server %q: %w", text, errors.New("expected a port from 1 to 65535"))
	}
	return addr, nil
}

// remaining is how much time a context leaves, at most the budget of a question.
func remaining(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return budget
	}
	return time.Until(deadline)
}
