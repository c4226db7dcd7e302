package ping

import (
	"encoding/binary"
	"net/netip"
)

// The types of ICMP that matter here (RFC 792, RFC 4443).
const (
	echoReply4   = 0
	unreachable4 = 3
	echo4        = 8
	exceeded4    = 11
	parameter4   = 12

	unreachable6 = 1
	tooBig6      = 2
	exceeded6    = 3
	parameter6   = 4
	echo6        = 128
	echoReply6   = 129
)

const (
	headerLen  = 8              // type, code, checksum, identifier, sequence number
	requestLen = headerLen + 16 // with the mark and the token
	protocol4  = 1              // ICMP in an IPv4 header
	protocol6  = 58             // ICMPv6 in an IPv6 header
)

// mark begins the payload, so that whoever sees a request in a packet dump
// knows where it comes from.
const mark = "sidestep"

// message is what one received packet says of one of our requests, when it
// says something at all.
type message struct {
	reply bool       // else an ICMP error that quotes the request
	peer  netip.Addr // who replied, or whom the quoted request was for
	id    uint16
	seq   uint16
	token uint64
	cut   bool       // an error quoted too little to hold the token
	by    netip.Addr // who sent the error; zero when the kernel did not say
	kind  uint8      // type of the error
	code  uint8      // code of the error
	local netip.Addr // our address, at which it arrived
}

// appendRequest writes an echo request. Its checksum is that of ICMPv4; for
// ICMPv6 and on datagram sockets the kernel writes it.
func appendRequest(b []byte, v6 bool, id, seq uint16, token uint64) []byte {
	kind := byte(echo4)
	if v6 {
		kind = echo6
	}
	start := len(b)
	b = append(b, kind, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, id)
	b = binary.BigEndian.AppendUint16(b, seq)
	b = append(b, mark...)
	b = binary.BigEndian.AppendUint64(b, token)
	if !v6 {
		binary.BigEndian.PutUint16(b[start+2:], ^sum(b[start:]))
	}
	return b
}

// sum is the one's complement sum of RFC 1071; all ones over a message whose
// checksum is right.
func sum(b []byte) uint16 {
	var s uint32
	for ; len(b) >= 2; b = b[2:] {
		s += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}

// strip4 takes the IPv4 header off what a raw socket received, and checks the
// checksum, which the kernel has not done yet at this point.
func strip4(packet []byte) (icmp []byte, from netip.Addr, ok bool) {
	header, icmp, ok := split4(packet)
	if !ok || len(icmp) < headerLen || sum(icmp) != 0xffff {
		return nil, netip.Addr{}, false
	}
	return icmp, netip.AddrFrom4([4]byte(header[12:16])), true
}

// split4 parts an unfragmented IPv4 packet with ICMP in it (RFC 791 section 3.1).
func split4(packet []byte) (header, rest []byte, ok bool) {
	if len(packet) < 20 || packet[0]>>4 != 4 || packet[9] != protocol4 {
		return nil, nil, false
	}
	length := int(packet[0]&0xf) * 4
	fragment := binary.BigEndian.Uint16(packet[6:]) & 0x1fff
	if length < 20 || len(packet) < length || fragment != 0 {
		return nil, nil, false
	}
	return packet[:length], packet[length:], true
}

// split6 parts an IPv6 packet with ICMPv6 right behind the header, which is how
// our requests leave (RFC 8200 section 3).
func split6(packet []byte) (header, rest []byte, ok bool) {
	if len(packet) < 40 || packet[0]>>4 != 6 || packet[6] != protocol6 {
		return nil, nil, false
	}
	return packet[:40], packet[40:], true
}

// parse reads an ICMP message from one address.
func parse(v6 bool, from netip.Addr, icmp []byte) (message, bool) {
	if len(icmp) < headerLen {
		return message{}, false
	}
	reply := byte(echoReply4)
	if v6 {
		reply = echoReply6
	}
	kind, code := icmp[0], icmp[1]
	switch {
	case kind == reply && code == 0:
		m, ok := parseEcho(icmp)
		m.reply, m.peer = true, from
		return m, ok && !m.cut && len(icmp) == requestLen
	case isProblem(v6, kind):
		m, ok := parseQuote(v6, icmp[headerLen:])
		m.by, m.kind, m.code = from, kind, code
		return m, ok
	}
	return message{}, false
}

// isProblem tells whether a type of ICMP says that a packet did not arrive.
// Redirects and source quench (deprecated by RFC 6633) do not.
func isProblem(v6 bool, kind uint8) bool {
	if v6 {
		return kind == unreachable6 || kind == tooBig6 || kind == exceeded6 || kind == parameter6
	}
	return kind == unreachable4 || kind == exceeded4 || kind == parameter4
}

// parseQuote reads the packet that an ICMP error quotes: at least its IP header
// and 8 bytes (RFC 792), so the token is not always there.
func parseQuote(v6 bool, packet []byte) (message, bool) {
	if v6 {
		header, echo, ok := split6(packet)
		if !ok {
			return message{}, false
		}
		return parseRequest(v6, netip.AddrFrom16([16]byte(header[24:40])), echo)
	}
	header, echo, ok := split4(packet)
	if !ok {
		return message{}, false
	}
	return parseRequest(v6, netip.AddrFrom4([4]byte(header[16:20])), echo)
}

// parseRequest reads a quoted echo request that was for peer.
func parseRequest(v6 bool, peer netip.Addr, echo []byte) (message, bool) {
	request := byte(echo4)
	if v6 {
		request = echo6
	}
	if len(echo) < headerLen || echo[0] != request || echo[1] != 0 {
		return message{}, false
	}
	m, ok := parseEcho(echo)
	m.peer = peer
	return m, ok
}

// parseEcho reads identifier, sequence number and token of an echo message with
// a whole header. It is not ok when the payload is whole and not one of ours.
func parseEcho(echo []byte) (message, bool) {
	m := message{id: binary.BigEndian.Uint16(echo[4:]), seq: binary.BigEndian.Uint16(echo[6:])}
	if len(echo) < requestLen {
		m.cut = true
		return m, true
	}
	m.token = binary.BigEndian.Uint64(echo[headerLen+len(mark):])
	return m, string(echo[headerLen:headerLen+len(mark)]) == mark
}
