package authority

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"
)

func bigZone(t testing.TB) *Zone {
	t.Helper()
	var b strings.Builder
	b.WriteString(head)
	for i := range 3000 {
		fmt.Fprintf(&b, "host-%d 60 IN A 192.0.2.1\n", i)
	}
	return parse(t, b.String())
}

func transfer(t testing.TB, addr string, kind uint16) (rrs []dns.RR, messages int, err error) {
	t.Helper()
	req := new(dns.Msg).SetAxfr("example.com.")
	if kind == dns.TypeIXFR {
		req.SetIxfr("example.com.", 0, ".", ".")
	}
	stream, err := new(dns.Transfer).In(req, addr)
	if err != nil {
		return nil, 0, err
	}
	for envelope := range stream {
		if envelope.Error != nil {
			err = envelope.Error
			continue
		}
		messages++
		rrs = append(rrs, envelope.RR...)
	}
	return rrs, messages, err
}

func TestTransferIsWholeAndInSeveralMessages(t *testing.T) {
	z := bigZone(t)
	s := serve(t, z, Options{})
	for _, kind := range []uint16{dns.TypeAXFR, dns.TypeIXFR} {
		rrs, messages, err := transfer(t, s.Addr(), kind)
		if err != nil {
			t.Fatal(err)
		}
		want := append(z.Records(), z.Records()[0])
		if len(rrs) != len(want) || messages < 3 {
			t.Fatalf("%s: %d records in %d messages, want %d in several", typeName(kind), len(rrs), messages, len(want))
		}
		for i, rr := range rrs {
			if rr.String() != want[i].String() {
				t.Fatalf("record %d: %s, want %s", i, rr, want[i])
			}
		}
	}
}

func TestTransferMessagesStayShort(t *testing.T) {
	z := bigZone(t)
	total := 0
	for _, rrs := range envelopes(z) {
		m := new(dns.Msg).SetAxfr("example.com.")
		m.Answer = rrs
		if got := m.Len(); got > envelope+200 {
			t.Errorf("a message of %d octets", got)
		}
		total += len(rrs)
	}
	if total != len(z.records)+1 {
		t.Errorf("%d records sent, want %d", total, len(z.records)+1)
	}
}

func TestTransferIsRefused(t *testing.T) {
	z := exampleZone(t)
	nobody := serve(t, z, Options{Transfer: []netip.Prefix{}})
	other := serve(t, z, Options{Transfer: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	open := serve(t, z, Options{})
	for name, c := range map[string]struct {
		server  *Server
		network string
		zone    string
	}{
		"nobody may":    {nobody, "tcp", "example.com."},
		"other prefix":  {other, "tcp", "example.com."},
		"over UDP":      {open, "udp", "example.com."},
		"not the apex":  {open, "tcp", "www.example.com."},
		"not our zone":  {open, "tcp", "example.net."},
		"above our own": {open, "tcp", "com."},
	} {
		t.Run(name, func(t *testing.T) {
			m := exchange(t, c.network, c.server.Addr(), new(dns.Msg).SetAxfr(c.zone))
			if m.Rcode != dns.RcodeRefused || len(m.Answer) != 0 {
				t.Errorf("want REFUSED, got %s", m)
			}
		})
	}
}

// generation is a zone in which every answer tells the same number.
func generation(t testing.TB, i int) *Zone {
	return parse(t, fmt.Sprintf("@ 60 IN SOA ns hostmaster %d 3600 600 86400 60\n@ 60 IN NS ns\nwww 60 IN A 192.0.2.%d\nwww 60 IN A 198.51.100.%d\n", i+1, i, i))
}

func TestSwapUnderLoadNeverShowsAnEmptyOrMixedAnswer(t *testing.T) {
	zones := []*Zone{generation(t, 0), generation(t, 1), generation(t, 2)}
	s := serve(t, zones[0], Options{})
	var asked atomic.Int64
	var clients, swapper sync.WaitGroup
	stop := make(chan struct{})
	swapper.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				s.SetZone(zones[i%len(zones)])
			}
		}
	})
	for _, network := range []string{"udp", "udp", "tcp"} {
		clients.Go(func() {
			client := &dns.Client{Net: network, Timeout: patience}
			conn, err := client.Dial(s.Addr())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			for range 500 {
				m, _, err := client.ExchangeWithConn(ask("www.example.com.", dns.TypeA), conn)
				if err != nil {
					t.Errorf("%s: %v", network, err)
					return
				}
				if len(m.Answer) != 2 || m.Answer[0].(*dns.A).A.To4()[3] != m.Answer[1].(*dns.A).A.To4()[3] {
					t.Errorf("%s: %s", network, m)
					return
				}
				asked.Add(1)
			}
		})
	}
	clients.Wait()
	close(stop)
	swapper.Wait()
	if got := asked.Load(); !t.Failed() && got != 1500 {
		t.Errorf("%d answers", got)
	}
}

func TestTransferIsFromOneZoneThroughASwap(t *testing.T) {
	z := bigZone(t)
	s := serve(t, z, Options{})
	raw, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	conn := &dns.Conn{Conn: raw}
	if err := conn.WriteMsg(new(dns.Msg).SetAxfr("example.com.")); err != nil {
		t.Fatal(err)
	}
	first, err := conn.ReadMsg() // the transfer has begun
	if err != nil {
		t.Fatal(err)
	}
	s.SetZone(generation(t, 1))
	got := len(first.Answer)
	for got <= len(z.records) {
		m, err := conn.ReadMsg()
		if err != nil {
			t.Fatalf("after %d records: %v", got, err)
		}
		got += len(m.Answer)
	}
	if got != len(z.records)+1 {
		t.Errorf("%d records, want %d", got, len(z.records)+1)
	}
}
