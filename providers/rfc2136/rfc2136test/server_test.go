package rfc2136test

import (
	"slices"
	"testing"
)

const text = `$TTL 300
@ IN SOA ns1.example.com. admin.example.com. 7 3600 600 86400 60
@ IN NS ns1.example.com.
ns1 IN A 127.0.0.1
www 60 IN A 192.0.2.10
`

func TestServersAnswerStopAndComeBack(t *testing.T) {
	for name, start := range map[string]func(testing.TB, Zone) *Server{"bind": StartBIND, "knot": StartKnot, "powerdns": StartPowerDNS} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, Zone{Name: "example.com.", Text: text})
			for range 2 {
				if got := s.Short("www.example.com.", "A"); !slices.Equal(got, []string{"192.0.2.10"}) {
					t.Fatalf("www: got %q", got)
				}
				if got := s.Serial(); got != 7 {
					t.Fatalf("serial: got %d", got)
				}
				s.Restart()
			}
			s.Stop()
			if s.answers(t.Context(), s.Addr) {
				t.Fatal("the server answers after Stop")
			}
		})
	}
}
