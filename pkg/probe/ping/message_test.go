package ping

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

var (
	four = netip.MustParseAddr("198.51.100.1")
	six  = netip.MustParseAddr("2001:db8::1")
)

// reply4 is what a raw socket gets when the request is answered.
func reply4(from netip.Addr, request []byte) []byte {
	icmp := append([]byte(nil), request...)
	icmp[0], icmp[2], icmp[3] = echoReply4, 0, 0
	binary.BigEndian.PutUint16(icmp[2:], ^sum(icmp))
	return packet4(from, netip.MustParseAddr("192.0.2.7"), icmp)
}

func packet4(from, to netip.Addr, icmp []byte) []byte {
	header := make([]byte, 20)
	header[0], header[8], header[9] = 0x45, 64, protocol4
	copy(header[12:], from.AsSlice())
	copy(header[16:], to.AsSlice())
	return append(header, icmp...)
}

func packet6(to netip.Addr, icmp []byte) []byte {
	header := make([]byte, 40)
	header[0], header[6] = 0x60, protocol6
	copy(header[24:], to.AsSlice())
	return append(header, icmp...)
}

// problem is an ICMP error that quotes a packet.
func problem(kind, code byte, quote []byte) []byte {
	icmp := append([]byte{kind, code, 0, 0, 0, 0, 0, 0}, quote...)
	binary.BigEndian.PutUint16(icmp[2:], ^sum(icmp))
	return icmp
}

func TestParse(t *testing.T) {
	request4, request6 := appendRequest(nil, false, 7, 9, 0xabcdef), appendRequest(nil, true, 7, 9, 0xabcdef)
	if sum(request4) != 0xffff {
		t.Error("the checksum of a request is wrong")
	}
	reply6 := append([]byte(nil), request6...)
	reply6[0] = echoReply6
	foreign := append([]byte(nil), reply6...)
	foreign[headerLen] = 'x'
	quote4, quote6 := packet4(netip.MustParseAddr("192.0.2.7"), four, request4), packet6(six, request6)
	options := append([]byte{0x46}, quote4[1:20]...)
	options = append(append(options, 1, 1, 1, 1), request4...)
	fragment := append([]byte(nil), quote4...)
	fragment[7] = 1
	for _, c := range []struct {
		name string
		v6   bool
		icmp []byte
		want *message // nil when it says nothing of ours
	}{
		{"reply", true, reply6, &message{reply: true, peer: six, id: 7, seq: 9, token: 0xabcdef}},
		{"request", true, request6, nil},
		{"reply of the other family", false, reply6, nil},
		{"short reply", true, reply6[:20], nil},
		{"long reply", true, append(slices.Clip(reply6), 0), nil},
		{"other payload", true, foreign, nil},
		{"no header", true, reply6[:7], nil},
		{"unreachable", false, problem(3, 1, quote4), &message{peer: four, id: 7, seq: 9, token: 0xabcdef, by: four, kind: 3, code: 1}},
		{"a quote with options", false, problem(11, 0, options), &message{peer: four, id: 7, seq: 9, token: 0xabcdef, by: four, kind: 11}},
		{"a short quote", false, problem(3, 13, quote4[:28]), &message{peer: four, id: 7, seq: 9, cut: true, by: four, kind: 3, code: 13}},
		{"too short a quote", false, problem(3, 13, quote4[:27]), nil},
		{"no quote", false, problem(3, 13, nil), nil},
		{"a later fragment", false, problem(3, 1, fragment), nil},
		{"redirect", false, problem(5, 1, quote4), nil},
		{"quoted reply", false, problem(3, 1, packet4(four, four, append([]byte{0}, request4[1:]...))), nil},
		{"too big", true, problem(2, 0, quote6), &message{peer: six, id: 7, seq: 9, token: 0xabcdef, by: six, kind: 2}},
		{"a short quote", true, problem(1, 3, quote6[:48]), &message{peer: six, id: 7, seq: 9, cut: true, by: six, kind: 1, code: 3}},
		{"quote of the other family", true, problem(1, 3, quote4), nil},
	} {
		from := four
		if c.v6 {
			from = six
		}
		m, ok := parse(c.v6, from, c.icmp)
		switch {
		case ok != (c.want != nil):
			t.Errorf("%s: got %+v, %v", c.name, m, ok)
		case ok && m != *c.want:
			t.Errorf("%s: got %+v, want %+v", c.name, m, *c.want)
		}
	}
}

func TestStripIPv4(t *testing.T) {
	packet := reply4(four, appendRequest(nil, false, 7, 9, 1))
	icmp, from, ok := strip4(packet)
	if m, parsed := parse(false, from, icmp); !ok || !parsed || from != four || m.token != 1 {
		t.Errorf("got %v, %v, %+v", from, ok, m)
	}
	packet[len(packet)-1]++
	if _, _, ok := strip4(packet); ok {
		t.Error("a wrong checksum is not seen")
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct {
		m    message
		want string
	}{
		{message{peer: four, kind: 3, code: 1, by: netip.MustParseAddr("10.0.0.1")}, "host unreachable, says 10.0.0.1"},
		{message{peer: four, kind: 3, code: 13}, "administratively prohibited"},
		{message{peer: four, kind: 3, code: 99}, "destination unreachable, code 99"},
		{message{peer: four, kind: 11, code: 0}, "time to live exceeded"},
		{message{peer: four, kind: 12, code: 1}, "parameter problem, code 1"},
		{message{peer: six, kind: 1, code: 1}, "administratively prohibited"},
		{message{peer: six, kind: 2}, "packet too big"},
		{message{peer: six, kind: 3, code: 1}, "fragment reassembly time exceeded"},
	} {
		if got := c.m.words(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// control is a control message as the kernel writes it.
func control(level, kind int32, data []byte) []byte {
	b := binary.NativeEndian.AppendUint64(nil, uint64(unix.SizeofCmsghdr+len(data)))
	b = binary.NativeEndian.AppendUint32(b, uint32(level))
	b = binary.NativeEndian.AppendUint32(b, uint32(kind))
	b = append(b, data...)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

func TestParseQueued(t *testing.T) {
	request := appendRequest(nil, false, 7, 9, 0xabcdef)
	extended := []byte{113, 0, 0, 0, unix.SO_EE_ORIGIN_ICMP, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, unix.AF_INET, 0, 0, 0, 10, 0, 0, 1}
	info := control(unix.IPPROTO_IP, unix.IP_PKTINFO, make([]byte, 12))
	m, ok := parseQueued(false, four, request, append(info, control(unix.IPPROTO_IP, unix.IP_RECVERR, extended)...))
	want := message{peer: four, id: 7, seq: 9, token: 0xabcdef, kind: 3, code: 1, by: netip.MustParseAddr("10.0.0.1")}
	if !ok || m != want {
		t.Errorf("got %+v, %v, want %+v", m, ok, want)
	}
	extended[4] = unix.SO_EE_ORIGIN_LOCAL
	if _, ok := parseQueued(false, four, request, control(unix.IPPROTO_IP, unix.IP_RECVERR, extended)); ok {
		t.Error("a local error is no word of the network")
	}
	if _, ok := parseQueued(false, four, request, info); ok {
		t.Error("an entry without an error is none")
	}
	if _, ok := parseQueued(false, netip.Addr{}, request, nil); ok {
		t.Error("an entry without an address is none")
	}
}

// FuzzReply feeds arbitrary packets, quotes and control messages to the
// parsers. Whatever they are, nothing panics, a reply is one of ours in full,
// and an error has words.
func FuzzReply(f *testing.F) {
	request4, request6 := appendRequest(nil, false, 7, 9, 1), appendRequest(nil, true, 7, 9, 1)
	extended := []byte{113, 0, 0, 0, unix.SO_EE_ORIGIN_ICMP, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, unix.AF_INET, 0, 0, 0, 10, 0, 0, 1}
	queued := control(unix.IPPROTO_IP, unix.IP_RECVERR, extended)
	f.Add(false, reply4(four, request4), queued)
	f.Add(false, packet4(four, four, problem(3, 13, packet4(four, four, request4))), queued)
	f.Add(true, append([]byte{echoReply6}, request6[1:]...), queued)
	f.Add(true, problem(1, 3, packet6(six, request6)), queued)
	f.Add(false, request4, queued)
	f.Add(true, request6, control(unix.IPPROTO_IPV6, unix.IPV6_PKTINFO, make([]byte, 20)))
	f.Fuzz(func(t *testing.T, v6 bool, packet, control []byte) {
		from, icmp := six, packet
		if !v6 {
			from = four
			if stripped, sender, ok := strip4(packet); ok {
				from, icmp = sender, stripped
			}
		}
		m, ok := parse(v6, from, icmp)
		expectSense(t, m, ok, from)
		if ok && m.reply && (len(icmp) != requestLen || m.cut) {
			t.Errorf("%x: got a reply of %d bytes", packet, len(icmp))
		}
		m, ok = parseQueued(v6, from, packet, control)
		expectSense(t, m, ok, from)
		if ok && m.reply {
			t.Errorf("%x: the error queue gave a reply", packet)
		}
		arrivedAt(control)
	})
}

func expectSense(t *testing.T, m message, ok bool, from netip.Addr) {
	t.Helper()
	switch {
	case !ok:
	case !m.peer.IsValid(), m.reply && m.peer != from, !m.reply && m.words() == "", m.peer.Is6() != from.Is6():
		t.Errorf("got %+v from %s", m, from)
	}
}
