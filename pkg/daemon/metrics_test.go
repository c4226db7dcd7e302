package daemon

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/health"
	"sidestep/pkg/metrics"
	"sidestep/pkg/override"
	"sidestep/pkg/plan"
	"sidestep/pkg/provider"
	"sidestep/pkg/provider/memory"
	"sidestep/pkg/record"
	"sidestep/pkg/steer"
)

// scrape reads the series of sidestep.
func scrape(t testing.TB, handler http.Handler) map[string]float64 {
	t.Helper()
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	if answer.Code != http.StatusOK {
		t.Fatalf("%d: %s", answer.Code, answer.Body)
	}
	series := map[string]float64{}
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if at := strings.LastIndexByte(lines.Text(), ' '); strings.HasPrefix(lines.Text(), "sidestep_") {
			value, err := strconv.ParseFloat(lines.Text()[at+1:], 64)
			if err != nil {
				t.Fatal(err)
			}
			series[lines.Text()[:at]] = value
		}
	}
	return series
}

func mustBe(t *testing.T, got map[string]float64, want map[string]float64) {
	t.Helper()
	for series, value := range want {
		if is, there := got[series]; !there || is != value {
			t.Errorf("%s is %v (there: %v), want %v", series, is, there, value)
		}
	}
}

// A backend breaks, the name moves, and a person freezes: every number follows.
func TestMetricsFollowAFailover(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		d := w.run()
		handler := d.Metrics()
		time.Sleep(time.Minute)
		if _, err := d.Approve(t.Context(), control.ApproveRequest{Target: "www"}, "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		before := scrape(t, handler)
		mustBe(t, before, map[string]float64{
			`sidestep_loop_up`: 1, `sidestep_frozen`: 0,
			`sidestep_targets{check="web",verdict="up"}`:                                                2,
			`sidestep_target_up{address="192.0.2.10",check="web"}`:                                      1,
			`sidestep_leader{zone="example.com."}`:                                                      1,
			`sidestep_record_sets{usable="all",zone="example.com."}`:                                    1,
			`sidestep_pending_changes{zone="example.com."}`:                                             0,
			`sidestep_record_set_live{name="www.example.com.",type="A",variant="",zone="example.com."}`: 1,
		})
		w.site.fail(a)
		time.Sleep(2 * time.Minute)
		d.overrule(control.OverrideRequest{Kind: "freeze", Target: "all", For: "2h", Reason: "audit"})
		time.Sleep(time.Hour)
		after := scrape(t, handler)
		mustBe(t, after, map[string]float64{
			`sidestep_targets{check="web",verdict="up"}`:                              1,
			`sidestep_targets{check="web",verdict="down"}`:                            1,
			`sidestep_target_up{address="192.0.2.10",check="web"}`:                    0,
			`sidestep_record_sets{usable="some",zone="example.com."}`:                 1,
			`sidestep_writes_total{action="create",outcome="ok",zone="example.com."}`: 1,
			`sidestep_writes_total{action="pause",outcome="ok",zone="example.com."}`:  1,
			`sidestep_verdicts_total{check="web",verdict="down"}`:                     1,
			`sidestep_frozen`: 1, `sidestep_overrides{kind="freeze"}`: 1, `sidestep_override_oldest_seconds{kind="freeze"}`: 3600,
		})
		if len(before) != len(after) {
			t.Errorf("%d series before, %d after", len(before), len(after))
		}
		for _, grown := range []string{
			`sidestep_probe_results_total{check="web",result="fail"}`, `sidestep_probe_failures_total{cause="refused"}`,
			`sidestep_plans_total{zone="example.com."}`, `sidestep_rounds_total{end="in-sync",zone="example.com."}`,
			`sidestep_write_seconds_count{zone="example.com."}`, `sidestep_api_calls_total{call="list",outcome="ok",zone="example.com."}`,
			`sidestep_api_calls_total{call="write",outcome="ok",zone="example.com."}`,
		} {
			if after[grown] <= before[grown] {
				t.Errorf("%s did not grow: %v, then %v", grown, before[grown], after[grown])
			}
		}
	})
}

// The words that metrics count by are those of the rooms that say them.
func TestMetricsKnowEveryWord(t *testing.T) {
	reference, err := os.ReadFile("../metrics/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]string{}
	for line := range strings.Lines(string(reference)) {
		if cells := strings.Split(line, "|"); len(cells) == 4 {
			lists[strings.Trim(cells[1], " `")] = "," + strings.ReplaceAll(cells[2], " ", "") + ","
		}
	}
	said := map[string][]any{
		"result":   {check.Pass, check.Fail, check.Unknown},
		"verdict":  {health.Up, health.Down, health.Suspected, health.Unknown},
		"cooldown": {health.Eligible, health.Cooling, health.Probing, health.Disabled},
		"action":   {record.Create, record.Resume, record.Pause, record.Swap, record.SetTTL, record.SetWeight},
		"outcome":  {provider.Permanent, provider.Retryable, provider.Conflict, provider.FencedOut, provider.Ambiguous},
		"cause": {
			check.CauseRefused, check.CauseTimeout, check.CauseReset, check.CauseUnreachable, check.CauseCertificate, check.CauseAuth,
			check.CauseStatus, check.CauseMismatch, check.CauseTooLarge, check.CauseLoss, check.CauseLocal,
		},
		"guard": {
			plan.GuardAdopt, plan.GuardHeld, plan.GuardForeign, plan.GuardOwned, plan.GuardDelegation, plan.GuardState, plan.GuardMaxWrites,
			plan.GuardMaxChanges, plan.GuardCanary, plan.GuardFreeze, plan.GuardMass, plan.GuardClock,
		},
	}
	for _, kind := range override.Kinds {
		said["kind"] = append(said["kind"], kind)
	}
	for label, list := range said {
		for _, word := range list {
			if !strings.Contains(lists[label], fmt.Sprintf(",%v,", word)) {
				t.Errorf("%s: %v is not among%s", label, word, lists[label])
			}
		}
	}
}

// large is a daemon of so many targets, ten of them to a record set, whose loop runs.
func large(t testing.TB, targets int) *Daemon {
	t.Helper()
	zone := memory.NewZone(home, class)
	spec := &check.Spec{Name: "web", Kind: check.KindTCP, TCP: &check.TCP{Port: 443}, Interval: 10 * time.Second, Timeout: 5 * time.Second, Fall: 3, Rise: 3}
	c := &config.Config{
		Node: config.Node{Name: "mon-1"}, State: config.State{Dir: t.TempDir()}, Leader: config.Leader{Lock: config.LockNone},
		Reconcile: config.Reconcile{Debounce: time.Second, Every: 5 * time.Minute, RetryBase: time.Second, RetryMax: 30 * time.Second},
		Checks:    map[string]*check.Spec{"web": spec},
		Zones:     []config.Zone{{Name: home, Provider: "memory", Settings: provider.Settings{Zone: home}}},
	}
	for i := range targets {
		if i%10 == 0 {
			c.Records = append(c.Records, &steer.Spec{
				Key: record.Key{Zone: home, Name: record.Name(fmt.Sprintf("www%d.example.com.", i/10)), Type: record.A}, TTL: time.Minute,
				Policy: steer.All, OnAllDown: steer.Keep, MinLive: 1, Checks: []string{"web"},
			})
		}
		address := fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)
		set := c.Records[i/10]
		set.Answers = append(set.Answers, steer.Answer{Value: address, Probe: address})
	}
	d, err := New(Options{Config: c, Registry: provider.Registry{"memory": func(provider.Settings) (provider.Adapter, error) { return zone.Adapter("mon-1"), nil }}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.startLoop())
	return d
}

// Targets have series of their own as long as they are few.
func TestManyTargetsAreAddedUp(t *testing.T) {
	for targets, own := range map[int]int{metrics.SeriesMost: metrics.SeriesMost, 10 * metrics.SeriesMost: 0} {
		got := scrape(t, large(t, targets).Metrics())
		mustBe(t, got, map[string]float64{
			`sidestep_targets_omitted`:                        float64(targets - own),
			`sidestep_targets{check="web",verdict="unknown"}`: float64(targets),
		})
		up := 0
		for series := range got {
			if strings.HasPrefix(series, "sidestep_target_up{") {
				up++
			}
		}
		if up != own {
			t.Errorf("%d targets: %d series of their own, want %d", targets, up, own)
		}
	}
}

// BenchmarkMetrics holds an answer to a Prometheus of 10,000 targets against one to
// the status command. The aim is 100 ms, and so far less than a status.
func BenchmarkMetrics(b *testing.B) {
	d := large(b, 10000)
	handler := d.Metrics()
	var took, status time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		scrape(b, handler)
		took += time.Since(began)
		b.StopTimer()
		began = time.Now()
		if _, err := d.Status(b.Context(), ""); err != nil {
			b.Fatal(err)
		}
		status += time.Since(began)
		b.StartTimer()
	}
	b.ReportMetric(took.Seconds()/status.Seconds(), "of-a-status")
}
