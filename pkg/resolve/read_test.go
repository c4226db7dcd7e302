package resolve

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/miekg/dns"

	"sidestep/pkg/observe"
)

// Only the records of the chain's end count, of the internet and of the type.
func TestReadTakesWhatWasAskedFor(t *testing.T) {
	for _, c := range []struct {
		answer []string
		want   string
	}{
		{[]string{"www.example.com. 60 A 192.0.2.10", "www.example.com. 60 A 192.0.2.10"}, "[www.example.com.] [192.0.2.10]"},
		{[]string{"WWW.EXAMPLE.com. 60 A 192.0.2.20", "www.example.com. 60 A 192.0.2.10"}, "[www.example.com.] [192.0.2.10 192.0.2.20]"},
		{[]string{"other.example.com. 60 A 192.0.2.66", "www.example.com. 60 A 192.0.2.10"}, "[www.example.com.] [192.0.2.10]"},
		{[]string{"www.example.com. 60 AAAA 2001:db8::1", "www.example.com. 60 A 192.0.2.10"}, "[www.example.com.] [192.0.2.10]"},
		{[]string{"www.example.com. 60 CH A 192.0.2.66", "www.example.com. 60 A 192.0.2.10"}, "[www.example.com.] [192.0.2.10]"},
		{[]string{"www.example.com. 60 CNAME Edge.example.net.", "edge.example.net. 60 A 192.0.2.10", "www.example.com. 60 A 192.0.2.66"}, "[www.example.com. edge.example.net.] [192.0.2.10]"},
		{[]string{"www.example.com. 60 CH CNAME edge.example.net.", "edge.example.net. 60 A 192.0.2.66", "www.example.com. 60 A 192.0.2.10"}, "[www.example.com.] [192.0.2.10]"},
	} {
		reply := &dns.Msg{MsgHdr: dns.MsgHdr{RecursionAvailable: true}}
		for _, text := range c.answer {
			rr, err := dns.NewRR(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			reply.Answer = append(reply.Answer, rr)
		}
		v, err := read(reply, "www.example.com.", dns.TypeA)
		if got := fmt.Sprint(v.names, " ", v.addresses); got != c.want || err != nil {
			t.Errorf("%q: got %s (%v), want %s", c.answer, got, err, c.want)
		}
	}
}

// What came and did not match is said beside the silence.
func TestBriefTellsOfWhatWasIgnored(t *testing.T) {
	silence := fmt.Errorf("no answer: %w", os.ErrDeadlineExceeded)
	got := brief(&observe.NoAnswerError{UDP: fmt.Errorf("%w; %w", silence, observe.ErrIgnored), TCP: syscall.ECONNREFUSED}).Error()
	if want := "udp: no answer in time; answers that do not match were ignored, tcp: connection refused"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
