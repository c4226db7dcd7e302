package resolve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/miekg/dns"

	"sidestep/pkg/observe"
)

const (
	budget     = 5 * time.Second // for one Lookup whose context has no earlier deadline
	maxServers = 3               // as many as the C library asks (resolv.conf(5), MAXNS)
	maxChain   = 16              // CNAMEs that are followed in one answer
	udpSize    = 1232            // the largest answer asked for over UDP (DNS Flag Day 2020)
)

// DefaultFile is where the resolvers of this machine are named.
const DefaultFile = "/etc/resolv.conf"

// Family is what kind of addresses are asked for.
type Family int

// The families.
const (
	Both Family = iota
	IPv4
	IPv6
)

// Options say whom to ask. The zero value asks those of DefaultFile.
type Options struct {
	File    string           // in the form of resolv.conf(5); empty means DefaultFile
	Servers []netip.AddrPort // asked instead of those of the file
}

// Answer is where a name leads to.
type Answer struct {
	Addresses []netip.Addr // IPv4 before IPv6, each family sorted, each once; none unspecified for a family that was not asked
	Names     []string     // the name asked for, and every name that its CNAMEs lead through, in order; lower case, final dot
	Partial   error        // why one of the two types was not answered; nil when both were
}

// NoAddressError says that a name has no address: no resolver failed.
type NoAddressError struct {
	Name   string // the name that has none: the one asked for, or the last of its CNAMEs
	Exists bool   // the name exists, without an address of the family asked for (NODATA); false for NXDOMAIN
}

func (n *NoAddressError) Error() string {
	if n.Exists {
		return n.Name + " exists but has no address"
	}
	return n.Name + " does not exist (NXDOMAIN)"
}

// Lookup asks for the addresses of a name, with or without the final dot. It
// takes at most five seconds, or as long as the context lasts. The error is a
// *NoAddressError when the name has no address of the family, and else says what kept
// this machine from finding out, with the resolver. The names that were led
// through are given also beside an error.
func Lookup(ctx context.Context, o Options, name string, family Family) (Answer, error) {
	if _, ok := dns.IsDomainName(name); !ok || name == "" {
		return Answer{}, fmt.Errorf("resolve %q: expected a domain name", name)
	}
	name = dns.CanonicalName(name)
	servers, err := o.servers()
	if err != nil {
		return Answer{Names: []string{name}}, err
	}
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	views := make([]view, 0, 2)
	for _, t := range []uint16{dns.TypeA, dns.TypeAAAA} {
		if family == Both || (family == IPv4) == (t == dns.TypeA) {
			views = append(views, view{kind: t})
		}
	}
	var asked sync.WaitGroup
	for i := range views {
		asked.Go(func() { views[i] = ask(ctx, servers, name, views[i].kind) })
	}
	asked.Wait()
	return merge(name, views)
}

// servers lists who is asked.
func (o Options) servers() ([]netip.AddrPort, error) {
	if len(o.Servers) > 0 {
		return o.Servers, nil
	}
	if o.File != "" {
		return Servers(o.File)
	}
	return Servers(DefaultFile)
}

// Servers lists the resolvers that a file in the form of resolv.conf(5) names,
// in their order: one at least, three at most.
func Servers(file string) ([]netip.AddrPort, error) {
	config, err := dns.ClientConfigFromFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the resolvers of this machine: %w; add a nameserver line to %s", err, file)
	}
	var servers []netip.AddrPort
	for _, text := range config.Servers {
		if addr, err := netip.ParseAddr(text); err == nil && len(servers) < maxServers {
			servers = append(servers, netip.AddrPortFrom(addr, 53))
		}
	}
	if len(servers) == 0 {
		return nil, fmt.Errorf("%s names no resolver; add a nameserver line with an address", file)
	}
	return servers, nil
}

// view is what was found out about one type.
type view struct {
	kind      uint16
	addresses []netip.Addr
	names     []string
	negative  *NoAddressError
	err       error // nobody answered
}

// ask asks one server after the other until one answers. Each gets an equal
// part of the time that is left.
func ask(ctx context.Context, servers []netip.AddrPort, name string, kind uint16) view {
	var failed []string
	for i, server := range servers {
		v, err := askOne(ctx, server, len(servers)-i, name, kind)
		if err == nil {
			return v
		}
		failed = append(failed, fmt.Sprintf("resolver %s: %v", server, err))
		if ctx.Err() != nil {
			break
		}
	}
	return view{kind: kind, names: []string{name}, err: errors.New(strings.Join(failed, ", "))}
}

func askOne(ctx context.Context, server netip.AddrPort, shares int, name string, kind uint16) (view, error) {
	deadline, _ := ctx.Deadline() // Lookup has set one
	ctx, cancel := context.WithTimeout(ctx, time.Until(deadline)/time.Duration(shares))
	defer cancel()
	question := new(dns.Msg).SetQuestion(name, kind).SetEdns0(udpSize, false)
	reply, _, _, err := observe.Exchange(ctx, server, question)
	if err != nil {
		return view{}, brief(err)
	}
	return read(reply, name, kind)
}

// brief leaves of why no answer came what people need, once when it is the same
// over both transports: which resolver was asked is said beside it.
func brief(err error) error {
	no, ok := errors.AsType[*observe.NoAnswerError](err)
	if !ok {
		return reason(err)
	}
	udp := reason(no.UDP)
	if no.TCP == nil {
		return udp
	}
	tcp := reason(no.TCP)
	if udp.Error() == tcp.Error() {
		return udp
	}
	return fmt.Errorf("udp: %w, tcp: %w", udp, tcp)
}

// reason is one transport's part of it, without the addresses in it.
func reason(err error) error {
	if errors.Is(err, observe.ErrIgnored) {
		return fmt.Errorf("%w; %w", cause(err), observe.ErrIgnored)
	}
	return cause(err)
}

func cause(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return errors.New("no answer in time")
	}
	return err
}

func hasSOA(authority []dns.RR) bool {
	return slices.ContainsFunc(authority, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeSOA })
}

// read takes the chain and the addresses out of an answer. An error means that
// this server cannot tell, and another one may: also one that gives an alias
// without its address and without the SOA that would say that there is none
// (RFC 2308 section 2.2), as forwarders do that do not follow it.
func read(reply *dns.Msg, name string, kind uint16) (view, error) {
	if reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError {
		return view{}, fmt.Errorf("answered %s", rcode(reply.Rcode))
	}
	names, err := chain(reply.Answer, name)
	if err != nil {
		return view{}, err
	}
	last := names[len(names)-1]
	v := view{kind: kind, names: names, addresses: addresses(reply.Answer, last, kind)}
	switch {
	case len(v.addresses) > 0:
	case !reply.RecursionAvailable && (!reply.Authoritative || len(names) > 1):
		return view{}, errors.New("does not resolve names for this machine: no recursion")
	case reply.Rcode == dns.RcodeSuccess && len(names) > 1 && !hasSOA(reply.Ns):
		return view{}, fmt.Errorf("answered that %s is %s, and nothing of that one", name, last)
	default: // of a chain, the rcode speaks of its end (RFC 6604 section 3)
		v.negative = &NoAddressError{Name: last, Exists: reply.Rcode == dns.RcodeSuccess}
	}
	return v, nil
}

func rcode(code int) string {
	if word, known := dns.RcodeToString[code]; known {
		return word
	}
	return fmt.Sprintf("rcode %d", code)
}

// chain follows the CNAMEs of an answer from a name to its end.
func chain(answer []dns.RR, name string) ([]string, error) {
	next := map[string]string{}
	for _, rr := range answer {
		if alias, ok := rr.(*dns.CNAME); ok && alias.Hdr.Class == dns.ClassINET {
			next[dns.CanonicalName(alias.Hdr.Name)] = dns.CanonicalName(alias.Target)
		}
	}
	names := []string{name}
	for to, ok := next[name]; ok; to, ok = next[to] {
		if len(names) > maxChain {
			return nil, fmt.Errorf("answered with more than %d CNAMEs in a row, or in a circle", maxChain)
		}
		names = append(names, to)
	}
	return names, nil
}

// addresses lists those of one type that a name has in an answer.
func addresses(answer []dns.RR, name string, kind uint16) []netip.Addr {
	var list []netip.Addr
	for _, rr := range answer {
		header := rr.Header()
		if header.Rrtype != kind || header.Class != dns.ClassINET || dns.CanonicalName(header.Name) != name {
			continue
		}
		var raw []byte
		switch rr := rr.(type) {
		case *dns.A:
			raw = rr.A.To4()
		case *dns.AAAA:
			raw = rr.AAAA.To16()
		}
		if addr, ok := netip.AddrFromSlice(raw); ok {
			list = append(list, addr)
		}
	}
	slices.SortFunc(list, netip.Addr.Compare)
	return slices.Compact(list)
}

// merge makes one answer out of the views on each type.
func merge(name string, views []view) (Answer, error) {
	answer := Answer{Names: []string{name}}
	var negative *NoAddressError
	for _, v := range views {
		answer.Addresses = append(answer.Addresses, v.addresses...)
		for _, n := range v.names {
			if !slices.Contains(answer.Names, n) {
				answer.Names = append(answer.Names, n)
			}
		}
		switch {
		case v.err != nil && answer.Partial == nil:
			answer.Partial = fmt.Errorf("ask for %s %s: %w", name, dns.TypeToString[v.kind], v.err)
		case v.negative != nil:
			negative = v.negative
		}
	}
	switch {
	case len(answer.Addresses) > 0:
		return answer, nil
	case answer.Partial != nil:
		return answer, answer.Partial
	}
	return answer, negative
}
