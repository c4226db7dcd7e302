package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/lab"
	"sidestep/pkg/provider/providertest/realserver"
)

const (
	prometheusPackage = "prometheus"
	alertsDir         = "../../deploy/prometheus"
	boardFile         = "../../deploy/grafana/sidestep.json"
)

// metricNames are those of METRICS.md, with the series that a histogram has.
func metricNames(t *testing.T) map[string]bool {
	t.Helper()
	reference, err := os.ReadFile("../../pkg/metrics/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(sidestep_[a-z_]+)` \\| ([a-z]+)").FindAllStringSubmatch(string(reference), -1) {
		names[row[1]] = true
		if row[2] == "histogram" {
			names[row[1]+"_bucket"], names[row[1]+"_count"], names[row[1]+"_sum"] = true, true, true
		}
	}
	if len(names) < 40 {
		t.Fatalf("METRICS.md has %d names", len(names))
	}
	return names
}

// TestAlertsAndBoardAskForWhatThereIs reads every query of the alert rules and of the
// board: each metric in them exists.
func TestAlertsAndBoardAskForWhatThereIs(t *testing.T) {
	names := metricNames(t)
	for _, path := range []string{alertsDir + "/alerts.yaml", alertsDir + "/alerts_test.yaml", boardFile} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		asked := regexp.MustCompile(`\bsidestep_[a-z_]+`).FindAllString(string(text), -1)
		if len(asked) < 10 {
			t.Errorf("%s: asks for %d metrics", path, len(asked))
		}
		for _, name := range asked {
			if !names[name] {
				t.Errorf("%s: %s is no metric of pkg/metrics/METRICS.md", path, name)
			}
		}
	}
}

// TestBoardIsWhole reads the board as Grafana does, as far as that goes without one.
func TestBoardIsWhole(t *testing.T) {
	text, err := os.ReadFile(boardFile)
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Title, UID string
		Panels     []struct {
			ID      int
			Type    string
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatalf("%s: %v", boardFile, err)
	}
	ids := map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.Title == "" || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %d %q: its id is another's too, or it shows nothing", p.ID, p.Title)
		}
		ids[p.ID] = true
	}
	if board.Title != "sidestep" || len(ids) < 20 {
		t.Errorf("%q with %d panels", board.Title, len(ids))
	}
}

// TestAlertRules has Prometheus' own tool check the rules and the scrape, and play the
// scenes that stand beside them.
func TestAlertRules(t *testing.T) {
	promtool := realserver.Require(t, "promtool", prometheusPackage)
	for _, args := range [][]string{{"check", "config", "prometheus.yaml"}, {"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = alertsDir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// onSocket asks for a page of a control socket.
func onSocket(t *testing.T, socket, path string) string {
	t.Helper()
	client := http.Client{Timeout: patience, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
		DisableKeepAlives: true,
	}}
	answer, err := client.Get("http://localhost" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v\n%s", path, answer.Status, err, body)
	}
	return string(body)
}

// series is the value of one series in an answer, -1 where it has none.
func series(t *testing.T, page, name string) float64 {
	t.Helper()
	_, after, found := strings.Cut(page, "\n"+name+" ")
	if !found {
		return -1
	}
	text, _, _ := strings.Cut(after, "\n")
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestMetricsOfARun scrapes a daemon that serves a zone of its own while a backend
// breaks and is mended, as a Prometheus would; its tool finds nothing wrong with the
// pages.
func TestMetricsOfARun(t *testing.T) {
	promtool := realserver.Require(t, "promtool", prometheusPackage)
	w, text := newBackends(t)
	zone := filepath.Join(w.dir, "example.com.zone")
	if err := os.WriteFile(zone, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.zone = "provider: local\nfile: " + zone + "\nlisten: \"\"\n"
	w.write()
	w.run()
	w.mustStatus()
	first, broken := w.backends[0], ip(w.backends[0])
	until := func(what string, come func(page string) bool) string {
		t.Helper()
		page := ""
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if page = onSocket(t, w.socket(), "/metrics"); come(page) {
				return page
			}
		}
		t.Fatalf("%s never came; the last page:\n%s", what, page)
		return ""
	}
	targetUp := fmt.Sprintf(`sidestep_target_up{address=%q,check="web"}`, broken)
	before := until("the zone in sync", func(page string) bool {
		return series(t, page, targetUp) == 1 && series(t, page, `sidestep_record_set_live{name="www.example.com.",type="A",variant="",zone="example.com."}`) == 2
	})
	if err := first.Break(lab.Refuse); err != nil {
		t.Fatal(err)
	}
	during := until("the write", func(page string) bool {
		return series(t, page, targetUp) == 0 &&
			series(t, page, `sidestep_writes_total{action="pause",outcome="ok",zone="example.com."}`) >= 1 &&
			series(t, page, `sidestep_record_set_live{name="www.example.com.",type="A",variant="",zone="example.com."}`) == 1
	})
	for _, grows := range []string{
		`sidestep_probe_results_total{check="web",result="fail"}`, `sidestep_probe_failures_total{cause="refused"}`,
		`sidestep_verdicts_total{check="web",verdict="down"}`, `sidestep_plans_total{zone="example.com."}`,
		`sidestep_write_seconds_count{zone="example.com."}`, `sidestep_api_calls_total{call="write",outcome="ok",zone="example.com."}`,
	} {
		if series(t, during, grows) <= series(t, before, grows) {
			t.Errorf("%s was %v and is %v", grows, series(t, before, grows), series(t, during, grows))
		}
	}
	if err := first.Mend(); err != nil {
		t.Fatal(err)
	}
	until("the way back", func(page string) bool {
		return series(t, page, targetUp) == 1 && series(t, page, `sidestep_writes_total{action="resume",outcome="ok",zone="example.com."}`) >= 1
	})
	check := exec.Command(promtool, "check", "metrics")
	check.Stdin = strings.NewReader(during)
	if out, err := check.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}
