package check

import "testing"

// The values of secrets leave no trace in the fingerprint, and still make another check
// of it: what was counted with the old key says nothing of the new one.
func TestSameLooksAtSecrets(t *testing.T) {
	secure := func(key string) *Spec {
		return &Spec{Kind: KindTCP, TCP: &TCP{Port: 443, TLS: &TLS{Cert: []byte("cert"), Key: []byte(key)}}}
	}
	web := func(key, token string) *Spec {
		return &Spec{Kind: KindHTTP, HTTP: &HTTP{TLS: TLS{Key: []byte(key)}, Headers: []Header{{"Authorization", token}}}}
	}
	ping := &Spec{Kind: KindICMP, ICMP: &ICMP{Count: 3}}
	for _, row := range []struct {
		what string
		a, b *Spec
		same bool
	}{
		{"one key of a client over TCP", secure("a"), secure("a"), true},
		{"two keys of a client over TCP", secure("a"), secure("b"), false},
		{"two keys of a client over HTTPS", web("a", ""), web("b", ""), false},
		{"two tokens", web("", "a"), web("", "b"), false},
		{"a check without secrets", ping, &Spec{Kind: KindICMP, ICMP: &ICMP{Count: 3}}, true},
		{"a check and none", ping, nil, false},
		{"none and none", nil, nil, true},
	} {
		if got := row.a.Same(row.b); got != row.same {
			t.Errorf("%s: %v, want %v", row.what, got, row.same)
		}
	}
	if a, b := secure("a"), secure("b"); a.Fingerprint() != b.Fingerprint() {
		t.Error("a key leaves a trace in the fingerprint")
	}
}

// Up and down exclude each other: who says the one of too many is one short of the other.
func TestVantages(t *testing.T) {
	three := func(down int) *Vantages { return &Vantages{Of: []string{"a", "b", "c"}, Down: down} }
	for down, up := range map[int]int{1: 3, 2: 2, 3: 1} {
		if got := three(down).Up(); got != up {
			t.Errorf("%d of 3 say down, so that %d say up: got %d", down, up, got)
		}
	}
	var none *Vantages
	for _, row := range []struct {
		a, b *Vantages
		same bool
	}{
		{none, none, true},
		{none, three(1), false},
		{three(1), none, false},
		{three(1), three(1), true},
		{three(1), three(2), false},
		{three(1), &Vantages{Of: []string{"a", "c", "b"}, Down: 1}, false},
	} {
		if got := row.a.Same(row.b); got != row.same {
			t.Errorf("%v and %v: same %v", row.a, row.b, got)
		}
	}
}
