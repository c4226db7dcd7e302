package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"sidestep/pkg/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backend answers as a test says.
type backend struct {
	status  func(context.Context, string) (control.Status, error)
	explain func(context.Context, control.ExplainRequest) (control.Explanation, error)
	plan    func(context.Context, control.PlanRequest) (control.Plan, error)
	approve func(context.Context, control.ApproveRequest, string) (control.Approval, error)

	override func(context.Context, control.OverrideRequest, string) (control.Overruled, error)
	clear    func(context.Context, control.ClearRequest, string) (control.Overruled, error)
	dead     error
	events   chan control.StreamEvent
	history  func(control.HistoryRequest, func(json.RawMessage) error) (control.History, error)
}

func (b backend) Status(ctx context.Context, name string) (control.Status, error) {
	return b.status(ctx, name)
}

func (b backend) Explain(ctx context.Context, r control.ExplainRequest) (control.Explanation, error) {
	return b.explain(ctx, r)
}

func (b backend) Plan(ctx context.Context, r control.PlanRequest) (control.Plan, error) {
	return b.plan(ctx, r)
}

func (b backend) Reconcile(ctx context.Context, r control.PlanRequest) (control.Plan, error) {
	p, err := b.plan(ctx, r)
	for i := range p.Zones {
		p.Zones[i].Applied = p.Zones[i].Changes
	}
	return p, err
}

func (b backend) Override(ctx context.Context, r control.OverrideRequest, by string) (control.Overruled, error) {
	return b.override(ctx, r, by)
}

func (b backend) ClearOverride(ctx context.Context, r control.ClearRequest, by string) (control.Overruled, error) {
	return b.clear(ctx, r, by)
}

func (b backend) Overrides(context.Context) (control.Overrides, error) {
	return control.Overrides{Daemon: true, Overrides: []control.Override{{Target: "192.0.2.1"}}}, nil
}

func (b backend) History(_ context.Context, r control.HistoryRequest, each func(json.RawMessage) error) (control.History, error) {
	return b.history(r, each)
}

func (b backend) ReloadConfig(_ context.Context, by string) (control.Reloaded, error) {
	return control.Reloaded{File: "/etc/sidestep/sidestep.yaml", Changed: "asked by " + by}, nil
}

func (b backend) Events(context.Context) (<-chan control.StreamEvent, error) { return b.events, nil }

func (b backend) Alive(context.Context) error { return b.dead }

func (b backend) Approve(ctx context.Context, r control.ApproveRequest, by string) (control.Approval, error) {
	return b.approve(ctx, r, by)
}

// socketPath is short enough for a unix socket, whatever the test is called.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ctl-") //nolint:usetesting // its names are too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "run", "control.sock")
}

// serve runs a server until the test ends or stop is called; stop returns what
// Serve did.
func serve(t *testing.T, path string, b control.Backend, change ...func(*control.Server)) (stop func() error) {
	t.Helper()
	server, err := control.Listen(path, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(server)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	var once bool
	stop = func() error {
		if once {
			return nil
		}
		once = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return stop
}

func dial(t *testing.T, path string) *control.Client {
	t.Helper()
	client, err := control.Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func me(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

func TestEveryRequestGoesThere(t *testing.T) {
	path := socketPath(t)
	request := control.PlanRequest{Zones: []string{"example.com"}, Override: []string{"owned"}, TakeOver: true, NoWait: true}
	change := control.Change{Action: "pause", Name: "www.example.com.", Type: "A", Value: "192.0.2.1", Reason: "\"down\" <&>"}
	plan := control.Plan{Zones: []control.ZonePlan{{Zone: "example.com.", Checksum: "abc", Changes: []control.Change{change}, Blocked: []control.Blocked{}}}, Undecided: []string{"web@192.0.2.1"}}
	explanation := control.Explanation{Node: "mon-1", Records: []control.ExplainedRecord{{
		Record:  control.Record{Name: "www.example.com.", Blocked: []control.Blocked{{Guard: "adopt"}}},
		Answers: []control.ExplainedAnswer{{Answer: control.Answer{Value: "192.0.2.1"}, Targets: []control.ExplainedTarget{{Judged: "down"}}}},
		Writes:  []control.ExplainedWrite{{Write: control.Write{Action: "pause"}, Evidence: []control.Event{{Kind: "verdict"}}}},
	}}}
	serve(t, path, backend{
		status: func(_ context.Context, name string) (control.Status, error) {
			return control.Status{Node: "mon-1", Notices: []string{"asked for " + name}}, nil
		},
		explain: func(_ context.Context, got control.ExplainRequest) (control.Explanation, error) {
			if want := (control.ExplainRequest{Name: "www & co?", Type: "AAAA"}); got != want {
				return control.Explanation{}, fmt.Errorf("got %+v", got)
			}
			return explanation, nil
		},
		plan: func(_ context.Context, got control.PlanRequest) (control.Plan, error) {
			if diff := cmp.Diff(request, got); diff != "" {
				return control.Plan{}, errors.New(diff)
			}
			return plan, nil
		},
		approve: func(_ context.Context, got control.ApproveRequest, by string) (control.Approval, error) {
			if want := (control.ApproveRequest{Target: "www & co", Plan: "abc"}); got != want || by != me(t) {
				return control.Approval{}, fmt.Errorf("got %+v by %s", got, by)
			}
			return control.Approval{Approved: got.Target, Idle: "nothing waits"}, nil
		},
	})
	client := dial(t, path)
	status, err := client.Status(t.Context(), "www & co?")
	if err != nil || status.Node != "mon-1" || status.Notices[0] != "asked for www & co?" {
		t.Errorf("status: %+v, %v", status, err)
	}
	explained, err := client.Explain(t.Context(), control.ExplainRequest{Name: "www & co?", Type: "AAAA"})
	if diff := cmp.Diff(explanation, explained); err != nil || diff != "" {
		t.Errorf("explain: %v\n%s", err, diff)
	}
	for what, ask := range map[string]func(context.Context, control.PlanRequest) (control.Plan, error){"plan": client.Plan, "reconcile": client.Reconcile} {
		got, err := ask(t.Context(), request)
		want := plan
		want.Zones = []control.ZonePlan{plan.Zones[0]}
		if what == "reconcile" {
			want.Zones[0].Applied = want.Zones[0].Changes
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", what, err, diff)
		}
	}
	if got, err := client.Approve(t.Context(), control.ApproveRequest{Target: "www & co", Plan: "abc"}); err != nil || got.Approved != "www & co" || got.Idle != "nothing waits" {
		t.Errorf("approve: %+v, %v", got, err)
	}
}

func TestWhoAskedIsReadFromTheSocket(t *testing.T) {
	path := socketPath(t)
	asked := make(chan string, 1)
	serve(t, path, backend{approve: func(_ context.Context, _ control.ApproveRequest, by string) (control.Approval, error) {
		asked <- by
		return control.Approval{}, nil
	}})
	// A client that claims to be somebody else has nowhere to say so.
	status, text := raw(t, path, http.MethodPost, "/api/v1/approve", `{"target":"www","by":"root"}`)
	if status != http.StatusBadRequest || !strings.Contains(text, "unknown field") {
		t.Errorf("a request with a name of its own was answered with %d %s", status, text)
	}
	if _, err := dial(t, path).Approve(t.Context(), control.ApproveRequest{Target: "www"}); err != nil {
		t.Fatal(err)
	}
	if by := <-asked; by != me(t) {
		t.Errorf("the server heard %q, want %q", by, me(t))
	}
	if control.Self() != me(t) {
		t.Errorf("Self is %q, want %q", control.Self(), me(t))
	}
}

// raw sends a request that the client would not.
func raw(t *testing.T, path, method, target, body string) (status int, text string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
	request, err := http.NewRequestWithContext(t.Context(), method, "http://sidestep"+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if kind := response.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("%s %s: answered with %q", method, target, kind)
	}
	return response.StatusCode, string(data)
}

func TestBadRequests(t *testing.T) {
	path := socketPath(t)
	serve(t, path, backend{})
	for _, c := range []struct {
		name, method, target, body string
		status                     int
		word                       string
	}{
		{"unknown path", "GET", "/api/v1/nosuch", "", 404, `"GET /api/v1/nosuch: this sidestep has no such request"`},
		{"wrong method", "GET", "/api/v1/reconcile", "", 404, "no such request"},
		{"root", "GET", "/", "", 404, "no such request"},
		{"no JSON", "POST", "/api/v1/plan", "zones", 400, "read request: invalid character"},
		{"empty", "POST", "/api/v1/reconcile", "", 400, "read request: EOF"},
		{"newer field", "POST", "/api/v1/reconcile", `{"slowly":true}`, 400, "of different versions"},
		{"wrong type", "POST", "/api/v1/approve", `{"target":5}`, 400, "read request"},
		{"too large", "POST", "/api/v1/plan", `{"zones":["` + strings.Repeat("a", 64<<10) + `"]}`, 413, "more than 65536 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, text := raw(t, path, c.method, c.target, c.body)
			if status != c.status || !strings.Contains(text, c.word) || !strings.Contains(text, `"error"`) {
				t.Errorf("answered with %d %s, want %d and %s", status, text, c.status, c.word)
			}
		})
	}
}

// TestErrorsKeepTheirExitCode sends every kind of no through the socket.
func TestErrorsKeepTheirExitCode(t *testing.T) {
	path := socketPath(t)
	var say error
	serve(t, path, backend{plan: func(context.Context, control.PlanRequest) (control.Plan, error) { return control.Plan{}, say }})
	for _, code := range []int{control.ExitFailure, control.ExitUsage, control.ExitGuard, control.ExitNotLeader, control.ExitProvider, control.ExitFrozen, control.ExitPending} {
		say = fmt.Errorf("wrapped: %w", &control.Error{Message: "no", Hint: "try this", Exit: code})
		_, err := dial(t, path).Plan(t.Context(), control.PlanRequest{})
		if control.ExitOf(err) != code || err.Error() != "no; try this" {
			t.Errorf("exit %d arrived as %d: %v", code, control.ExitOf(err), err)
		}
	}
	say = errors.New("plain")
	_, err := dial(t, path).Plan(t.Context(), control.PlanRequest{})
	if control.ExitOf(err) != control.ExitFailure || err.Error() != "plain" {
		t.Errorf("a plain error arrived as %d: %v", control.ExitOf(err), err)
	}
	if control.ExitOf(nil) != control.ExitDone {
		t.Error("no error is not done")
	}
}

func TestWorst(t *testing.T) {
	for _, c := range []struct {
		codes []int
		want  int
	}{
		{nil, 0}, {[]int{0, 0}, 0}, {[]int{0, 10}, 10}, {[]int{10, 6}, 6}, {[]int{6, 4}, 4},
		{[]int{4, 3}, 3}, {[]int{3, 5}, 5}, {[]int{5, 1, 3}, 1},
	} {
		if got := control.Worst(c.codes...); got != c.want {
			t.Errorf("of %v the worst is %d, want %d", c.codes, got, c.want)
		}
	}
}
