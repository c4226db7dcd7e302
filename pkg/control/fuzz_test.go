package control

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sidestep/pkg/override"
)

// FuzzRequest sends any query and any body to every request of the protocol: each is
// answered with JSON, and what is not understood with an error that says so.
func FuzzRequest(f *testing.F) {
	f.Add("name=www&type=A", `{"name":"www","mode":"dry"}`)
	f.Add("since=2026-01-02T03:04:05Z&until=x&kind=write&kind=&last=7", `{"what":"all"}`)
	f.Add("last=-1&name=%00", `{"override":{"kind":"drain","target":"192.0.2.1","reason":"r"}}`)
	f.Add("%zz", `{"unknown":1} {}`)
	f.Add("", `[`)
	f.Fuzz(func(t *testing.T, query, body string) {
		mux := routes(echo{}, anybody)
		for _, route := range protocol() {
			if route.path == "/api/v1/events" {
				continue // it does not end
			}
			r := httptest.NewRequestWithContext(t.Context(), route.method, route.path, strings.NewReader(body))
			r.URL.RawQuery = query
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, r)
			if !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s: answered with %q", route.pattern(), w.Body)
			}
			var answer struct{ Error any }
			_ = json.Unmarshal(w.Body.Bytes(), &answer)
			no, refused := answer.Error.(map[string]any)
			if (w.Code == http.StatusOK) == refused || refused && no["message"] == "" {
				t.Errorf("%s: answered %d with %q", route.pattern(), w.Code, w.Body)
			}
		}
	})
}

// FuzzRefusal reads any answer of what listens on the socket and said no.
func FuzzRefusal(f *testing.F) {
	f.Add(422, []byte(`{"error":{"message":"m","hint":"h","exit":2}}`))
	f.Add(500, []byte(`{"error":null}`))
	f.Add(0, []byte("<html>"))
	f.Fuzz(func(t *testing.T, status int, data []byte) {
		if err := (&Client{socket: "s"}).refusal(status, data); err == nil {
			t.Errorf("%d %q was taken for a yes", status, data)
		} else {
			_ = err.Error()
		}
	})
}

// echo is a backend that has understood everything.
type echo struct{ Backend }

func (echo) Status(context.Context, string) (Status, error)               { return Status{}, nil }
func (echo) Explain(context.Context, ExplainRequest) (Explanation, error) { return Explanation{}, nil }
func (echo) Plan(context.Context, PlanRequest) (Plan, error)              { return Plan{}, nil }
func (echo) Reconcile(context.Context, PlanRequest) (Plan, error)         { return Plan{}, nil }
func (echo) Overrides(context.Context) (Overrides, error)                 { return Overrides{}, nil }
func (echo) ReloadConfig(context.Context, string) (Reloaded, error)       { return Reloaded{}, nil }

func (echo) Approve(context.Context, ApproveRequest, string) (Approval, error) {
	return Approval{}, nil
}

func (echo) Override(_ context.Context, r OverrideRequest, _ string) (Overruled, error) {
	return Overruled{}, override.Override{Kind: override.Kind(r.Kind), Target: r.Target}.Validate()
}

func (echo) ClearOverride(context.Context, ClearRequest, string) (Overruled, error) {
	return Overruled{}, nil
}

func (echo) History(_ context.Context, _ HistoryRequest, each func(json.RawMessage) error) (History, error) {
	return History{}, each(json.RawMessage(`{"kind":"write"}`))
}
