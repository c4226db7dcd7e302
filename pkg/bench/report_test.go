package bench

import (
	"context"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidestep/pkg/config"
)

func TestWorldIsAConfigThatTheDaemonTakes(t *testing.T) {
	dir := t.TempDir()
	w := World{Kind: HTTP, Targets: 25, Interval: 2 * time.Second, Port: 18080}
	path, err := w.write(dir)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(path, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	answers := 0
	for _, r := range cfg.Records {
		answers += len(r.Answers)
	}
	web := cfg.Checks["web"]
	if answers != 25 || web.Fall != fall || web.Interval != w.Interval || web.Timeout != w.Timeout() || web.HTTP.Port != 18080 {
		t.Errorf("got %d answers and the check %+v", answers, web)
	}
}

// sample is one of a daemon or a floor.
func sample(run, who string, cpu float64) Sample {
	return Sample{Run: run, Who: who, CPU: cpu, Beat: Beat{Share: 1, Median: 2 * second}}
}

func TestGoalsAreOfRoundsAndAllowForNoise(t *testing.T) {
	samples := []Sample{
		sample(runSmall, "floor", 100), sample(runSmall, "sidestep", 150),
		sample(runSmall, "floor", 200), sample(runSmall, "sidestep", 380), // the ratio of this round is the median
		sample(runSmall, "floor", 100), sample(runSmall, "sidestep", 500),
	}
	list := goals(samples, nil, nil)
	if len(list) != 1 || list[0].Value != 1.9 {
		t.Fatalf("got %+v, want one goal of the ratio 1.9", list)
	}
	if met, barely := list[0].Met(); !met || !barely {
		t.Errorf("1.9 of 1.75: got met %v, barely %v, want both", met, barely)
	}
	for _, c := range []struct {
		goal Goal
		met  bool
	}{
		{Goal{Value: 2.02, Limit: 1.75, Ratio: true}, false},
		{Goal{Value: 40.1, Limit: 40}, false},
		{Goal{Value: 40, Limit: 40}, true},
		{Goal{Value: 99.9, Limit: 99.9, AtLeast: true}, true},
		{Goal{Value: 99.8, Limit: 99.9, AtLeast: true}, false},
	} {
		if met, _ := c.goal.Met(); met != c.met {
			t.Errorf("%+v: got met %v", c.goal, met)
		}
	}
}

// TestEveryGoalCanBeMissed judges figures that are all bad, and all good.
func TestEveryGoalCanBeMissed(t *testing.T) {
	judge := func(cpu float64, peak int, beat Beat, took time.Duration, seen int, plan time.Duration) []Goal {
		var samples []Sample
		for _, run := range []string{runBig, runSmall, runTCP, runICMP, runFast, runHealthy, runHung} {
			floor := sample(run, "floor", 100)
			daemon := Sample{Run: run, Who: "sidestep", CPU: cpu, Peak: peak, Beat: beat, First: took, Waits: int(took / (10 * second))}
			if run == runSmall {
				daemon.Peak = 20 << 10
			}
			if run == runHealthy {
				daemon.Beat.P99 *= 3
			}
			samples = append(samples, floor, daemon)
		}
		var detections []Detection
		for _, fast := range []time.Duration{0, 250 * milli} {
			d := Detection{Fault: Hang, FastInter: fast, Faults: 2, Seen: seen}
			d.Took, d.Excess = []time.Duration{took, took}, []time.Duration{took / 100, took / 100}
			detections = append(detections, d)
		}
		plans := []Planning{{Records: 10_000, Plan: milli, Floor: milli}, {Records: 100_000, Plan: plan, Floor: 10 * milli, Bytes: float64(plan / milli)}}
		return goals(samples, detections, plans)
	}
	bad := judge(300, 90<<10, Beat{Share: 0.5, Median: 3 * second, P99: 20 * milli, Max: second}, 60*second, 1, 400*milli)
	good := judge(120, 30<<10, Beat{Share: 1, Median: 2 * second, P99: 500 * time.Microsecond, Max: milli}, second, 2, 12*milli)
	for i := range good {
		if met, _ := bad[i].Met(); met {
			t.Errorf("bad figures reach %+v", bad[i])
		}
		if met, _ := good[i].Met(); !met && good[i].Unit != "x" { // the healthy beside the hung are three times as late in both
			t.Errorf("good figures miss %+v", good[i])
		}
	}
	report := Report{Goals: bad}
	if report.Missed() != len(bad) || len(bad) != 27 {
		t.Errorf("%d of %d bad goals are missed", report.Missed(), len(bad))
	}
}

func TestReportIsATable(t *testing.T) {
	report := Report{
		Samples:    []Sample{sample(runSmall, "floor", 100), sample(runSmall, "sidestep", 150)},
		Detections: []Detection{{Fault: Hang, Faults: 1, Seen: 1, Took: []time.Duration{second}, Ideal: []time.Duration{second}, Excess: []time.Duration{milli}}},
		Plans:      []Planning{{Records: 10_000, Floor: milli, Plan: milli}},
		Goals:      []Goal{{ID: "G1", What: "CPU", Value: 1.5, Limit: 1.75, Unit: "x floor"}, {ID: "G4", What: "memory", Value: 41, Limit: 40, Unit: "MiB"}},
	}
	var text strings.Builder
	report.write(&text)
	got := strings.Join(strings.Fields(text.String()), " ")
	for _, want := range []string{
		"| http-1k/2s | sidestep | 150.0 | 0.0 | 100.00 |",
		"| hang | 0s | 1 of 1 | 1.00 / 1.00 / 1.00 | 1.00 / 1.00 / 1.00 | 1.0 |",
		"| 10000 | 1.00 | 1.00 |",
		"| G1 | CPU | 1.5 x floor | <= 1.75 | pass |",
		"| G4 | memory | 41 MiB | <= 40 | MISS |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, text.String())
		}
	}
}

func TestVerdictsAreReadFromTheLog(t *testing.T) {
	v := &verdicts{down: map[string]time.Time{}}
	for _, piece := range []string{
		`{"level":"info","target":"web@127.1.0.1","from":"up","to":"do`,
		`wn","message":"verdict"}` + "\n" + `{"target":"web@127.1.0.2","to":"up","message":"verdict"}` + "\nnot JSON\n",
		`{"target":"web@127.1.0.3","to":"down","message":"decision"}` + "\n",
	} {
		if n, err := io.WriteString(v, piece); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	for i, want := range []bool{true, false, false} {
		if at, seen := v.of(i); seen != want || seen && time.Since(at) > patience {
			t.Errorf("target %d: got down %v at %v, want %v", i, seen, at, want)
		}
	}
}

func TestIdealDetection(t *testing.T) {
	w := World{Interval: 2 * second}
	for _, c := range []struct {
		fault Fault
		fast  time.Duration
		want  time.Duration
	}{
		{Refuse, 0, second + 4*second},
		{Hang, 0, second + 4*second + second},
		{Refuse, 250 * milli, second + 500*milli},
		{Hang, 250 * milli, second + 3*second}, // a hung probe lasts longer than the re-check waits
	} {
		w.FastInter = c.fast
		if got := (strike{next: second}).ideal(w, c.fault); got != c.want {
			t.Errorf("%s, re-check %v: got %v, want %v", c.fault, c.fast, got, c.want)
		}
	}
}

func TestNearestSlot(t *testing.T) {
	w := World{Interval: 2 * second}
	arrivals := []Arrival{{second, 0}, {3 * second, 0}, {3500 * milli, 1}, {3900 * milli, 2}}
	struck := map[int]bool{}
	for _, want := range []strike{{target: 1, next: 1500 * milli}, {target: 2, next: 1900 * milli}, {target: 0, next: second}} {
		i, next := nearestSlot(arrivals, 4*second, w, 1600*milli, struck)
		if i != want.target || next != want.next {
			t.Errorf("got target %d in %v, want %d in %v", i, next, want.target, want.next)
		}
		struck[i] = true
	}
}

func TestAChildIsMeasuredAndEndsWithTheRun(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	p, err := start(ctx, "sleep", nil, "sleep", "1000")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cpuOf(p.pid()); err != nil {
		t.Error(err)
	}
	if kib, err := peakOf(p.pid()); err != nil || kib <= 0 {
		t.Errorf("peak: got %d KiB, %v", kib, err)
	}
	stop()
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatal("the child lives on")
	}
	if err := syscall.Kill(p.pid(), 0); err == nil {
		t.Error("the child is still there")
	}
}

func TestAChildThatEndsSaysWhy(t *testing.T) {
	p, err := start(t.Context(), "floor", nil, "sh", "-c", "echo no such port >&2; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	err = p.wait(t.Context(), patience)
	if err == nil || !strings.Contains(err.Error(), "floor ended: exit status 3: no such port") {
		t.Errorf("got %v", err)
	}
}

func TestMainSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-sidestep", "/nonexistent/sidestep"}, "make build"},
		{[]string{"everything"}, `expected flags only, got "everything"`},
		{[]string{"target", "-targets", "0"}, "expected 1 to"},
	} {
		var out, errs strings.Builder
		if code := Main(t.Context(), c.args, &out, &errs); code != 2 || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%q: code %d, stderr %q, want %q", c.args, code, errs.String(), c.want)
		}
	}
	if got := (flagSet{only: "g1, G4"}); !got.chosen("G4", "G9") || got.chosen("G2") || !(flagSet{}).chosen("G2") {
		t.Error("-only chooses wrongly")
	}
}

func TestPlanningFindsTheChanges(t *testing.T) {
	p, err := measurePlanning(2000)
	if err != nil || p.Plan <= 0 || p.Floor <= 0 || p.Bytes <= 0 {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestPeersAreComparedRoundByRound(t *testing.T) {
	r := &Report{Samples: []Sample{
		sample(runBig, "sidestep", 100), sample(runBig, "gdnsd", 50), sample(runBig, "blackbox", 1000),
		sample(runBig, "sidestep", 60), sample(runBig, "gdnsd", 60), sample(runBig, "blackbox", 300),
		sample(runBig, "sidestep", 90), sample(runBig, "gdnsd", 60), sample(runBig, "blackbox", 300),
	}}
	for i := range r.Samples {
		r.Samples[i].Peak = map[string]int{"sidestep": 40 << 10, "gdnsd": 10 << 10, "blackbox": 80 << 10}[r.Samples[i].Who]
	}
	want := []string{runBig + " | gdnsd | 1.50 x | 4.00 x", runBig + " | blackbox | 0.20 x | 0.50 x"}
	if got := r.beside(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	list := cpuGoals(r.Samples)
	if len(list) != 2 || list[0].Value != 1.5 || list[0].Limit != 1.75 || list[1].Value != 0.2 {
		t.Errorf("got %+v, want 1.5 of 1.75 to gdnsd and 0.2 to the exporter", list)
	}
}

func TestWhatOnlyGrowsMissesTheEndurance(t *testing.T) {
	steady := func(n int) Minute {
		return Minute{Resident: 40, Goroutines: 300, Files: 200 + float64(n%3), Beat: Beat{Share: 1}}
	}
	leak := func(n int) Minute {
		m := steady(n)
		m.Files += 10 * float64(n)
		return m
	}
	for name, c := range map[string]struct {
		of     func(int) Minute
		missed string
	}{"steady": {steady, ""}, "ten files a minute": {leak, "open files, last half to first"}} {
		var list []Minute
		for n := range 30 {
			list = append(list, c.of(n))
		}
		missed := ""
		for _, g := range enduranceGoals(list) {
			if met, _ := g.Met(); !met {
				missed += g.What
			}
		}
		if missed != c.missed {
			t.Errorf("%s: missed %q, want %q", name, missed, c.missed)
		}
	}
	if list := enduranceGoals(make([]Minute, startup+1)); list != nil {
		t.Errorf("a run that is too short: got %v, want no goal", list)
	}
}
