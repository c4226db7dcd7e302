package metrics

import (
	"bufio"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// scrape lists the series of sidestep, with their values.
func scrape(t testing.TB, handler http.Handler) map[string]string {
	t.Helper()
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	if answer.Code != http.StatusOK {
		t.Fatalf("%d: %s", answer.Code, answer.Body)
	}
	series := map[string]string{}
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if at := strings.LastIndexByte(lines.Text(), ' '); strings.HasPrefix(lines.Text(), prefix) {
			series[lines.Text()[:at]] = lines.Text()[at+1:]
		}
	}
	return series
}

// whole is a snapshot in which every metric has a series.
func whole() Snapshot {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return Snapshot{
		Loop: Loop{Answers: true, LastTurn: at}, Config: Config{Loaded: at},
		Checks: []Check{{Name: "web", Verdicts: map[string]int{"up": 1, "down": 1}}}, Targets: []Target{{Check: "web", Address: "192.0.2.1", Up: true}},
		Canary: "pass", Guards: []string{"mass"}, Sites: []Site{{Name: "east", OK: true}},
		Zones:     []Zone{{Name: "example.com.", Listed: at, Leads: true, Lease: 20 * time.Second, Leased: true, Blocked: map[string]int{"adopt": 2, "news": 1}}},
		Sets:      []Set{{Zone: "example.com.", Name: "www.example.com.", Type: "A", Usable: 2, Live: 1, Listed: true}},
		Overrides: map[string]Override{"drain": {Count: 1, Oldest: time.Hour}}, Nodes: map[string]int{"heard": 2},
		Limits:    map[string]Limit{"cloudflare": {Calls: 7, Waited: 1500 * time.Millisecond}},
		Receivers: map[string]Receiver{"slack at hooks.slack.com": {Delivered: 3, Failed: 5, Dropped: 2, Waiting: 4, Oldest: time.Minute}},
	}
}

func newMeter() *Meter {
	m := NewMeter("1.2.3", "go1.26")
	m.Configure([]string{"web"}, []string{"example.com."})
	return m
}

// Every metric of the table is in an answer, and no other; a word that is in no list
// is other.
func TestAnswerHasTheWholeTable(t *testing.T) {
	m := newMeter()
	got := scrape(t, m.Handler(whole))
	have := map[string]bool{}
	for series := range got {
		name, _, _ := strings.Cut(series, "{")
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, suffix)
		}
		have[strings.TrimPrefix(name, prefix)] = true
	}
	for _, p := range table {
		for _, of := range p.metrics {
			if !have[of.name] {
				t.Errorf("%s is in no answer", of.name)
			}
			delete(have, of.name)
		}
	}
	if len(have) > 0 {
		t.Errorf("in the answer and not in the table: %v", slices.Sorted(maps.Keys(have)))
	}
	for series, want := range map[string]string{
		`sidestep_build_info{go="go1.26",version="1.2.3"}`:                                            "1",
		`sidestep_targets{check="web",verdict="down"}`:                                                "1",
		`sidestep_blocked{guard="adopt",zone="example.com."}`:                                         "2",
		`sidestep_blocked{guard="other",zone="example.com."}`:                                         "1",
		`sidestep_blocked{guard="freeze",zone="example.com."}`:                                        "0",
		`sidestep_lease_left_seconds{zone="example.com."}`:                                            "20",
		`sidestep_override_oldest_seconds{kind="drain"}`:                                              "3600",
		`sidestep_rate_limit_wait_seconds_total{provider="cloudflare"}`:                               "1.5",
		`sidestep_node_guard{guard="mass"}`:                                                           "1",
		`sidestep_canary{result="fail"}`:                                                              "0",
		`sidestep_record_set_usable{name="www.example.com.",type="A",variant="",zone="example.com."}`: "2",
		`sidestep_writes_total{action="pause",outcome="fenced-out",zone="example.com."}`:              "0",
		`sidestep_loop_last_turn_timestamp_seconds`:                                                   "1.7672256e+09",
		`sidestep_notify_messages_total{delivery="dropped",receiver="slack at hooks.slack.com"}`:      "2",
		`sidestep_notify_messages_total{delivery="failed",receiver="slack at hooks.slack.com"}`:       "5",
		`sidestep_notify_oldest_seconds{receiver="slack at hooks.slack.com"}`:                         "60",
	} {
		if got[series] != want {
			t.Errorf("%s is %q, want %s", series, got[series], want)
		}
	}
}

// A loop that does not answer hides the counters from nobody.
func TestLoopThatDoesNotAnswer(t *testing.T) {
	m := newMeter()
	m.JournalError()
	got := scrape(t, m.Handler(func() Snapshot { return Snapshot{Loop: Loop{LastTurn: time.Unix(1000, 0)}} }))
	if got["sidestep_loop_up"] != "0" || got["sidestep_loop_last_turn_timestamp_seconds"] != "1000" || got["sidestep_journal_errors_total"] != "1" {
		t.Errorf("%v", got)
	}
	if _, told := got["sidestep_frozen"]; told {
		t.Error("what is not known is told")
	}
}

// 10,000 probes that fail with texts, ports and ids that are never the same, calls
// that end in ways nobody thought of, and 50 reloads that rename targets and checks:
// there are as many series as before, those of what is gone are gone, and every word
// is in its list.
func TestCase100SeriesFollowFromTheConfig(t *testing.T) {
	m := newMeter()
	snapshot := whole()
	handler := m.Handler(func() Snapshot { return snapshot })
	before := scrape(t, handler)
	for i := range 50 {
		name := fmt.Sprintf("web-%d", i)
		m.Configure([]string{name}, []string{"example.com."})
		snapshot.Checks[0].Name, snapshot.Targets[0] = name, Target{Check: name, Address: fmt.Sprintf("192.0.2.%d", i)}
		for probe := range 200 {
			m.Result(name, "fail", fmt.Sprintf("read: connection reset by 192.0.2.1:%d, request %d", 30000+probe, i), time.Second)
			m.Result("web", "pass", "", time.Second) // late, of a check that is gone
			m.Verdict("web", "down")
			m.Call("example.com.", fmt.Sprintf("call %d", probe), "ok")
			m.Write("example.com.", fmt.Sprintf("action %d", probe), "ok")
			m.Write("elsewhere.example.", "pause", "ok")
		}
	}
	after := scrape(t, handler)
	if len(after) != len(before) {
		t.Errorf("%d series before, %d after", len(before), len(after))
	}
	for series := range after {
		for _, gone := range []string{`"web"`, `"web-48"`, `"192.0.2.48"`, "elsewhere", "30001"} {
			if strings.Contains(series, gone) {
				t.Errorf("%s is still there", series)
			}
		}
	}
	if got := after[`sidestep_probe_failures_total{cause="other"}`]; got != "10000" {
		t.Errorf("%s failures of another cause, want 10000", got)
	}
	if got := after[`sidestep_api_calls_total{call="other",outcome="ok",zone="example.com."}`]; got != "10000" {
		t.Errorf("%s other calls, want 10000", got)
	}
}

func TestHistogramsTakeWhatPassed(t *testing.T) {
	m := newMeter()
	m.Result("web", "pass", "", 20*time.Millisecond)
	m.Result("web", "fail", "timeout", 5*time.Second)
	m.WriteTook("example.com.", 2*time.Second)
	m.Propagated("example.com.", 7*time.Second)
	got := scrape(t, m.Handler(whole))
	for series, want := range map[string]string{
		`sidestep_probe_seconds_count{check="web"}`:                        "1",
		`sidestep_probe_seconds_bucket{check="web",le="0.01"}`:             "0",
		`sidestep_probe_seconds_bucket{check="web",le="0.05"}`:             "1",
		`sidestep_write_seconds_sum{zone="example.com."}`:                  "2",
		`sidestep_propagation_seconds_bucket{zone="example.com.",le="10"}`: "1",
		`sidestep_propagation_seconds_bucket{zone="example.com.",le="2"}`:  "0",
	} {
		if got[series] != want {
			t.Errorf("%s is %q, want %s", series, got[series], want)
		}
	}
}

// A check that a reload takes away and another brings back begins at 0, and what was
// under way meanwhile is told nowhere.
func TestCheckThatComesBack(t *testing.T) {
	m := newMeter()
	handler := m.Handler(whole)
	for round := range 2 {
		m.Configure(nil, nil)
		m.Result("web", "fail", "timeout", time.Second)
		m.Configure([]string{"web"}, nil)
		m.Result("web", "fail", "timeout", time.Second)
		got := scrape(t, handler)
		for series, want := range map[string]string{
			`sidestep_probe_results_total{check="web",result="fail"}`: "1",
			`sidestep_probe_failures_total{cause="timeout"}`:          fmt.Sprint(round + 1), // of no check alone
			`sidestep_verdicts_total{check="web",verdict="down"}`:     "0",
		} {
			if got[series] != want {
				t.Errorf("%s is %q, want %s", series, got[series], want)
			}
		}
	}
}

// There may be thousands of results a second.
func TestAResultAllocatesNothing(t *testing.T) {
	m := newMeter()
	for _, result := range words["result"] {
		if n := testing.AllocsPerRun(100, func() { m.Result("web", result, "timeout", time.Second) }); n > 0 {
			t.Errorf("%s: %v allocations", result, n)
		}
	}
}

func BenchmarkResult(b *testing.B) {
	m := newMeter()
	for _, result := range words["result"] {
		b.Run(result, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Result("web", result, "timeout", 20*time.Millisecond)
			}
		})
	}
}
