package daemon

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/scenario"
)

// gateway is what the signal internet of dc1 rests on.
const gateway = "203.0.113.1"

// atSites puts www at two sites. dc1 is usable while it has internet and access,
// and waits for approval after half an hour's outage.
func (w *world) atSites() {
	signal := func(name, address string) scenario.Signal {
		return scenario.Signal{Name: name, Check: "web", Targets: []string{address}, Need: 1}
	}
	w.config.Sites = []scenario.Site{
		{
			Name: "dc1", Signals: []scenario.Signal{signal("internet", gateway), signal("access", a)},
			Return: scenario.Return{Mode: scenario.Approve, AfterOutage: 30 * time.Minute},
		},
		{Name: "dc2", Signals: []scenario.Signal{signal("access", b)}},
	}
	w.config.Scenarios = []scenario.Scenario{
		{Name: "dc1-usable", Any: []scenario.Group{{{Kind: scenario.SiteOK, Name: "dc1"}}}},
		{Name: "calm", Any: []scenario.Group{{{Kind: scenario.Holds, Name: "dc1-usable"}, {Not: true, Kind: scenario.Maintenance, Name: "dc2"}}}},
		{Name: "elsewhere", Any: []scenario.Group{{{Kind: scenario.CheckUp, Name: "web"}}}},
	}
	answers := w.config.Records[0].Answers
	answers[0].Site, answers[0].When = "dc1", "calm"
	answers[1].Site = "dc2"
}

func siteOf(sites []control.Site, name string) control.Site {
	i := slices.IndexFunc(sites, func(s control.Site) bool { return s.Name == name })
	if i < 0 {
		return control.Site{}
	}
	return sites[i]
}

// A site that loses its internet is steered around, although its server answers:
// status and explain say by which term, and what led to the write.
func TestASiteIsSteeredAround(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.atSites()
		d := w.run()
		time.Sleep(settled)
		w.site.fail(gateway)
		time.Sleep(settled)
		w.mustLive(b)
		status := d.status()
		site := siteOf(status.Sites, "dc1")
		if site.State != "no-internet" || *site.Signals["internet"] || !*site.Signals["access"] || site.Waiting != nil {
			t.Errorf("dc1: %+v", site)
		}
		if answer := status.Records[0].Answers[0]; answer.Site != "dc1" || answer.Verdict != "up" || answer.Usable {
			t.Errorf("answer: %+v", answer)
		}
		if len(status.Scenarios) != 3 || len(status.Targets) != 3 {
			t.Errorf("%d scenarios, %d targets", len(status.Scenarios), len(status.Targets))
		}
		_, r := d.why()
		if len(r.Scenarios) != 2 || len(r.Sites) != 2 || r.Answers[0].When != "calm" {
			t.Fatalf("explain: %+v", r)
		}
		term := r.Scenarios[0].Any[0][0]
		if *r.Scenarios[0].Holds || term.Term != "dc1" || *term.Holds || term.Detail != "its state is no-internet" || !slices.Contains(term.Targets, "web@"+gateway) {
			t.Errorf("dc1-usable: %+v", r.Scenarios[0])
		}
		pause := r.Writes[0]
		if got := strings.Join(eventTexts(pause.Evidence), "; "); pause.Value != a || !strings.Contains(got, "web@"+gateway+" up>down") || !strings.Contains(got, "dc1 > no-internet, was ok") {
			t.Errorf("%s %s after %s", pause.Action, pause.Value, got)
		}
		if _, err := d.Status(context.Background(), "www"); err != nil {
			t.Error(err)
		}
	})
}

// A site that was out for long waits, through a restart, for a person.
func TestASiteWaitsForApproval(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		w.atSites()
		d := w.run()
		time.Sleep(settled)
		w.site.fail(a)
		time.Sleep(20 * time.Minute)
		d.end()
		d = w.run()
		time.Sleep(20 * time.Minute)
		w.site.heal(a)
		time.Sleep(10 * time.Minute)
		waits := func(when string) {
			w.mustLive(b)
			site := siteOf(d.status().Sites, "dc1")
			if site.State != "ok" || site.Waiting == nil || *site.Waiting != "approval" || !strings.Contains(site.Detail, "sidestep approve dc1") {
				t.Errorf("%s: %+v", when, site)
			}
		}
		waits("after 40 minutes")
		d.kill()
		d = w.run()
		time.Sleep(10 * time.Minute)
		waits("after a restart")
		answer, err := d.Approve(context.Background(), control.ApproveRequest{Target: "dc1"}, "ann")
		if err != nil || answer.Idle != "" {
			t.Fatalf("approve: %+v, %v", answer, err)
		}
		time.Sleep(4 * time.Minute)
		w.mustLive(b)
		time.Sleep(2 * time.Minute)
		w.mustLive(a)
		if site := siteOf(d.status().Sites, "dc1"); site.Waiting != nil {
			t.Errorf("approved: %+v", site)
		}
		if answer, err = d.Approve(context.Background(), control.ApproveRequest{Target: "dc1"}, "ann"); err != nil || !strings.Contains(answer.Idle, "does not wait") {
			t.Errorf("once more: %+v, %v", answer, err)
		}
	})
}
