package check_test

import (
	"go/parser"
	"go/token"
	"net/netip"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/check"
)

func TestTargetID(t *testing.T) {
	for _, c := range []struct {
		target check.Target
		want   string
	}{
		{check.Target{Check: "web", Address: "203.0.113.10"}, "web@203.0.113.10"},
		{check.Target{Check: "ssh", Address: "2001:db8::10"}, "ssh@2001:db8::10"},
	} {
		if got := c.target.ID(); got != c.want {
			t.Errorf("ID of %+v: got %s, want %s", c.target, got, c.want)
		}
	}
}

func TestTargetsAreComparable(t *testing.T) {
	seen := map[check.Target]int{}
	for _, address := range []string{"203.0.113.10", "203.0.113.10", "203.0.113.20"} {
		seen[check.Target{Check: "web", Address: address}]++
	}
	if len(seen) != 2 || seen[check.Target{Check: "web", Address: "203.0.113.10"}] != 2 {
		t.Errorf("targets as map keys: got %v, want two, one of them twice", seen)
	}
}

func TestLatencyIsEndMinusStart(t *testing.T) {
	r := check.Result{Start: 5 * time.Second, End: 5*time.Second + 12*time.Millisecond}
	if got := r.Latency(); got != 12*time.Millisecond {
		t.Errorf("got %v, want 12ms", got)
	}
}

// fullSpec is a check with every field set.
func fullSpec() *check.Spec {
	return &check.Spec{
		Name: "web", Kind: check.KindHTTP, Interval: 10 * time.Second, FastInter: time.Second, Timeout: 5 * time.Second, Fall: 3, Rise: 2,
		Source: netip.MustParseAddr("192.0.2.7"),
		HTTP: &check.HTTP{
			Scheme: "https", Host: "www.example.com", Port: 443, Authority: "www.example.com", Path: "/healthz", Method: "GET",
			Headers: []check.Header{{Name: "X-Key", Value: "secret"}}, Status: []check.StatusRange{{Low: 200, High: 299}},
			Body: regexp.MustCompile("ok"), JSON: map[string]string{"status": "ok"}, BodyLimit: 1024,
			TLS: check.TLS{ServerName: "www", CA: []byte("ca"), Cert: []byte("cert"), Key: []byte("key")},
		},
		Cooldown: &check.Cooldown{Base: 30 * time.Second, Factor: 2, Max: 2 * time.Minute},
		Causes:   check.Causes{check.CauseAuth: check.CountDisable},
		TCP:      &check.TCP{Port: 22, Send: "hello", Expect: regexp.MustCompile("ok"), TLS: &check.TLS{ServerName: "ssh"}},
		ICMP:     &check.ICMP{Count: 3, MaxLoss: 34},
	}
}

// change gives a field another value of its type.
func change(t *testing.T, name string, field reflect.Value) {
	t.Helper()
	switch v := field.Addr().Interface().(type) {
	case *string:
		*v += "x"
	case *check.Kind:
		*v = check.KindTCP
	case *time.Duration:
		*v++
	case *int:
		*v++
	case *int64:
		*v++
	case *uint16:
		*v++
	case *netip.Addr:
		*v = v.Next()
	case *[]check.Header:
		(*v)[0].Name += "x"
	case *[]check.StatusRange:
		(*v)[0].High++
	case **regexp.Regexp:
		*v = regexp.MustCompile("other")
	case *map[string]string:
		(*v)["status"] = "other"
	case *check.Causes:
		(*v)[check.CauseStatus] = check.CountUnknown
	case **check.Cooldown:
		*v = nil
	case **check.HTTP:
		*v = nil
	case **check.TCP:
		*v = nil
	case **check.ICMP:
		*v = nil
	case **check.TLS:
		*v = nil
	case *check.TLS:
		v.ServerName += "x"
	case *bool:
		*v = !*v
	case *[]byte:
		*v = append(*v, 'x')
	default:
		t.Fatalf("field %s has type %s, which this test cannot change yet", name, field.Type())
	}
}

// TestFingerprintChangesWithEveryField finds fields that were added to a check
// and forgotten in its comparison.
func TestFingerprintChangesWithEveryField(t *testing.T) {
	parts := map[string]func(*check.Spec) reflect.Value{
		"Spec":     func(s *check.Spec) reflect.Value { return reflect.ValueOf(s).Elem() },
		"HTTP":     func(s *check.Spec) reflect.Value { return reflect.ValueOf(s.HTTP).Elem() },
		"TCP":      func(s *check.Spec) reflect.Value { return reflect.ValueOf(s.TCP).Elem() },
		"TLS":      func(s *check.Spec) reflect.Value { return reflect.ValueOf(&s.HTTP.TLS).Elem() },
		"ICMP":     func(s *check.Spec) reflect.Value { return reflect.ValueOf(s.ICMP).Elem() },
		"Cooldown": func(s *check.Spec) reflect.Value { return reflect.ValueOf(s.Cooldown).Elem() },
	}
	for part, of := range parts {
		for i := range of(fullSpec()).NumField() {
			changed := fullSpec()
			name := part + "." + of(changed).Type().Field(i).Name
			change(t, name, of(changed).Field(i))
			secret := name == "TLS.Key" // leaves no trace in what is stored
			if !secret && changed.Fingerprint() == fullSpec().Fingerprint() || changed.Same(fullSpec()) || fullSpec().Same(changed) {
				t.Errorf("a change of %s is not seen", name)
			}
		}
	}
}

func TestSame(t *testing.T) {
	var none *check.Spec
	if !fullSpec().Same(fullSpec()) || !none.Same(none) || none.Same(fullSpec()) || fullSpec().Same(none) {
		t.Error("Same of equal specs, or of none, is wrong")
	}
	other := fullSpec()
	other.HTTP.Headers[0].Value = "another secret"
	if other.Same(fullSpec()) {
		t.Error("another header value is not seen")
	}
	if other.Fingerprint() != fullSpec().Fingerprint() {
		t.Error("the fingerprint, which is stored, depends on a secret")
	}
}

// TestWords holds the spelling of every word that users meet in JSON, metrics
// and config: these names are kept.
func TestWords(t *testing.T) {
	got := []string{
		string(check.Pass), string(check.Fail), string(check.Unknown), "|",
		string(check.PhaseResolve), string(check.PhaseConnect), string(check.PhaseTLS), string(check.PhaseSend),
		string(check.PhaseHeaders), string(check.PhaseBody), string(check.PhaseAssert), "|",
		string(check.CauseRefused), string(check.CauseTimeout), string(check.CauseReset), string(check.CauseUnreachable),
		string(check.CauseCertificate), string(check.CauseAuth), string(check.CauseStatus), string(check.CauseMismatch),
		string(check.CauseTooLarge), string(check.CauseLoss), string(check.CauseLocal), "|",
		string(check.KindHTTP), string(check.KindTCP), string(check.KindICMP), "|",
		string(check.CountFail), string(check.CountUnknown), string(check.CountDisable),
	}
	const want = "pass fail unknown | resolve connect tls send headers body assert | " +
		"refused timeout reset unreachable certificate auth status mismatch too-large loss local | http tcp icmp | fail unknown disable"
	if words := strings.Join(got, " "); words != want {
		t.Errorf("got  %s\nwant %s", words, want)
	}
}

// TestImportsValuesOnly keeps the vocabulary free of everything that has state,
// time or a socket, and of other modules.
func TestImportsValuesOnly(t *testing.T) {
	stateful := []string{"context", "crypto/rand", "log", "log/slog", "math/rand", "net", "net/http", "os", "sync", "sync/atomic"}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil || strings.ContainsAny(path, ".") || slices.Contains(stateful, path) {
				t.Errorf("%s imports %s", file.Name(), path)
			}
		}
	}
}
