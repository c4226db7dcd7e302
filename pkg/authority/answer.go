package authority

import "github.com/miekg/dns"

// udpSize is the largest answer over UDP, which passes every path without
// fragments (DNS Flag Day 2020, RFC 9715 section 3.1).
const udpSize = 1232

// respond makes the answer to a request other than a transfer, cut to what its
// transport can carry.
func respond(z *Zone, req *dns.Msg, tcp bool) *dns.Msg {
	m := new(dns.Msg).SetReply(req)
	opt, err := edns(req)
	f := finding{rcode: err}
	if err == dns.RcodeSuccess {
		f = find(z, req)
	}
	m.Rcode = f.rcode
	m.Authoritative = f.authoritative
	// The zone shares its lists, so these two are only read; the third is our own.
	m.Answer, m.Ns, m.Extra = f.answer, f.authority, f.additional
	if opt != nil {
		m.SetEdns0(udpSize, opt.Do()) // DO is copied back (RFC 3225 section 3)
	}
	m.Truncate(room(opt, tcp))
	m.Compress = true
	return m
}

// edns finds the OPT record of a request and the error that it stands for, if
// any (RFC 6891 section 6.1).
func edns(req *dns.Msg) (*dns.OPT, int) {
	var found *dns.OPT
	for _, rr := range req.Extra {
		opt, ok := rr.(*dns.OPT)
		switch {
		case !ok:
			continue
		case found != nil:
			return nil, dns.RcodeFormatError
		}
		found = opt
	}
	if found != nil && found.Version() != 0 {
		return found, dns.RcodeBadVers
	}
	return found, dns.RcodeSuccess
}

// find answers the question of a request from the zone; nil is no zone yet.
func find(z *Zone, req *dns.Msg) finding {
	switch {
	case req.Opcode != dns.OpcodeQuery:
		return finding{rcode: dns.RcodeNotImplemented}
	case len(req.Question) != 1:
		return finding{rcode: dns.RcodeFormatError}
	}
	q := req.Question[0]
	inet := q.Qclass == dns.ClassINET || q.Qclass == dns.ClassANY
	if z == nil || !inet || isTransfer(q.Qtype) {
		return finding{rcode: dns.RcodeRefused}
	}
	return z.lookup(q.Name, q.Qtype)
}

// room is how long an answer may be.
func room(opt *dns.OPT, tcp bool) int {
	switch {
	case tcp:
		return dns.MaxMsgSize
	case opt == nil:
		return dns.MinMsgSize
	}
	return max(dns.MinMsgSize, min(udpSize, int(opt.UDPSize())))
}
