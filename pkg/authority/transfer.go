package authority

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/miekg/dns"
)

// envelope is about how long one message of a transfer gets before the next one
// begins. Names are compressed by pointers into the first 16 KiB of a message
// (RFC 1035 section 4.1.4), so that longer ones would only grow.
const envelope = 16 << 10

// loopback is who may transfer the zone when nothing else is said.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// isTransfer reports whether a question asks for a whole zone. An incremental
// transfer is answered with the whole zone, as RFC 1995 section 4 allows.
func isTransfer(kind uint16) bool { return kind == dns.TypeAXFR || kind == dns.TypeIXFR }

// mayTransfer reports whether a client is in one of the allowed prefixes.
func (s *Server) mayTransfer(client net.Addr) bool {
	from, err := netip.ParseAddrPort(client.String())
	if err != nil {
		return false
	}
	addr := from.Addr().Unmap().WithZone("")
	return slices.ContainsFunc(s.transfer, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// transferZone answers a request for the whole zone over TCP: every record
// between two copies of the SOA, in as many messages as it takes (RFC 5936
// section 2.2), all from the one zone that was there when it began.
func transferZone(w dns.ResponseWriter, req *dns.Msg, z *Zone) error {
	opt, _ := edns(req)
	for _, rrs := range envelopes(z) {
		m := new(dns.Msg).SetReply(req)
		m.Authoritative, m.Compress = true, true
		m.Answer = rrs
		if opt != nil {
			m.SetEdns0(udpSize, opt.Do())
		}
		if err := w.WriteMsg(m); err != nil {
			return fmt.Errorf("transfer %s to %s: %w", z.origin, w.RemoteAddr(), err)
		}
	}
	return nil
}

// envelopes cuts the records of a transfer into messages of about one envelope;
// a record that is longer goes alone.
func envelopes(z *Zone) [][]dns.RR {
	var messages [][]dns.RR
	start, size := 0, 0
	all := append(slices.Clip(z.records), z.records[0])
	for i, rr := range all {
		length := dns.Len(rr)
		if i > start && size+length > envelope {
			messages = append(messages, all[start:i])
			start, size = i, 0
		}
		size += length
	}
	return append(messages, all[start:])
}
