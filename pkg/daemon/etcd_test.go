package daemon

import (
	"strings"
	"testing"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/provider"
)

// The bounds of a provider that ages signatures, of one that does not, and of one
// that compares and swaps.
var (
	aging  = provider.Promises{Late: 305 * time.Second, Signed: 305 * time.Second, Lag: 30 * time.Second, Call: 10 * time.Second}
	lazy   = provider.Promises{Late: time.Minute, Call: 30 * time.Second}
	fenced = provider.Promises{Late: time.Minute, Lag: 5 * time.Second, Call: 15 * time.Second, Fenced: true}
)

func shared(change func(*config.Leader)) config.Leader {
	l := config.Leader{Lock: config.LockEtcd, Lease: 30 * time.Second}
	change(&l)
	return l
}

func TestSafetyPeriod(t *testing.T) {
	auto := shared(func(*config.Leader) {})
	given := shared(func(l *config.Leader) { l.Safety, l.SafetyGiven = 6*time.Minute, true })
	for _, c := range []struct {
		name     string
		leader   config.Leader
		promises provider.Promises
		want     time.Duration
	}{
		{"worked out, signatures age", auto, aging, 298 * time.Second},
		{"worked out, calls come late", auto, lazy, 61 * time.Second},
		{"at a fence", auto, fenced, 15 * time.Second},
		{"as given", given, aging, 6 * time.Minute},
		{"another lock", config.Leader{Lock: config.LockFile}, aging, 0},
	} {
		if got := safety(c.leader, c.promises); got != c.want {
			t.Errorf("%s: %v, expected %v", c.name, got, c.want)
		}
	}
}

func TestASafetyPeriodThatIsTooShortIsRefusedWithTheSums(t *testing.T) {
	c := &config.Config{Leader: shared(func(l *config.Leader) { l.Safety, l.SafetyGiven = time.Minute, true })}
	c.Sources.Safety = config.Position{File: "c.yaml", Line: 2, Column: 30}
	err := suitsSafety(c, &config.Zone{Name: "example.com."}, aging)
	if err == nil || control.ExitOf(err) != control.ExitUsage {
		t.Fatalf("got %v, expected an error of the config", err)
	}
	want := "c.yaml:2:30: leader.safety: 1m is too short for zone example.com., where a call of the leader before can take effect later: " +
		"1.01 × ((29.4s trusted − 10s of a call) / 0.99 + 5m5s that a signature lives) − 30s of lease = 4m58s"
	if !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "write 4m58s or more, or auto") {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if err := suitsSafety(c, &config.Zone{}, fenced); err != nil {
		t.Errorf("at a fence: %v", err)
	}
	c.Leader.Safety = 298 * time.Second
	if err := suitsSafety(c, &config.Zone{}, aging); err != nil {
		t.Errorf("the least: %v", err)
	}
}

func TestHandoverInWords(t *testing.T) {
	auto, whole := shared(func(*config.Leader) {}), lazy
	whole.Whole = true
	const anew = "; for 1m more where its etcd shows no leadership before, as one that was built anew"
	for want, p := range map[string]provider.Promises{
		"; a leader that dies is replaced within 35s; the next one resumes at once, and takes nothing away and creates nothing beside a live answer for 5m35s, where at least 4m58s is safe: " +
			"1.01 × ((29.4s trusted − 10s of a call) / 0.99 + 5m5s that a signature lives) − 30s of lease = 4m58s" + anew: aging,
		"; a leader that dies is replaced within 35s; the next one resumes at once, and takes nothing away and creates nothing beside a live answer for 1m1s, where at least 1m1s is safe: " +
			"1.01 × (29.4s trusted / 0.99 + 1m that a call may be late) − 30s of lease = 1m1s" + anew: lazy,
		"; a leader that dies is replaced within 35s, and the next one writes at once: its claim makes every older call refused": fenced,
		"; a leader that dies is replaced within 35s; the next one resumes at once, and takes nothing away and creates nothing for 1m1s, where at least 1m1s is safe: " +
			"1.01 × (29.4s trusted / 0.99 + 1m that a call may be late) − 30s of lease = 1m1s" + anew: whole,
	} {
		if got := handover(auto, p); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestCallsAreNoLongerThanTheLeaseIsSureOf(t *testing.T) {
	for ttl, want := range map[time.Duration]string{30 * time.Second: "19.4s", 10 * time.Second: "6.5s"} {
		if got := longestCall(shared(func(l *config.Leader) { l.Lease = ttl })); got.Round(100*time.Millisecond).String() != want {
			t.Errorf("a lease of %v: calls of %v, expected %s", ttl, got, want)
		}
	}
	if got := longestCall(config.Leader{Lock: config.LockFile}); got != 0 {
		t.Errorf("a lock file: %v, expected no limit", got)
	}
}
