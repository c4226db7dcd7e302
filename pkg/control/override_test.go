package control_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sidestep/pkg/control"
)

func TestOverridesGoThereAndBack(t *testing.T) {
	path := socketPath(t)
	at := time.Date(2026, 1, 2, 22, 0, 0, 0, time.UTC)
	word := control.OverrideRequest{Kind: "pin", Target: "www & co", Values: []string{"192.0.2.1"}, For: "2h", Reason: `why "not"`, At: &at, DryRun: true}
	cleared := control.ClearRequest{Target: "www & co", Kind: "pin"}
	answer := control.Overruled{Override: &control.Override{Kind: "pin", From: at, State: "to come"}, Records: []control.Foreseen{{Name: "www.example.com.", At: &at}}, Exit: 3}
	serve(t, path, backend{
		override: func(_ context.Context, got control.OverrideRequest, by string) (control.Overruled, error) {
			if diff := cmp.Diff(word, got); diff != "" || by != me(t) {
				t.Errorf("by %s: %s", by, diff)
			}
			return answer, nil
		},
		clear: func(_ context.Context, got control.ClearRequest, by string) (control.Overruled, error) {
			if got != cleared || by != me(t) {
				t.Errorf("by %s: %+v", by, got)
			}
			return control.Overruled{Idle: "there is none"}, nil
		},
	})
	client := dial(t, path)
	got, err := client.Override(t.Context(), word)
	if diff := cmp.Diff(answer, got); err != nil || diff != "" {
		t.Errorf("override: %v\n%s", err, diff)
	}
	if got, err := client.ClearOverride(t.Context(), cleared); err != nil || got.Idle != "there is none" {
		t.Errorf("clear: %+v, %v", got, err)
	}
	if got, err := client.Overrides(t.Context()); err != nil || !got.Daemon || len(got.Overrides) != 1 {
		t.Errorf("list: %+v, %v", got, err)
	}
	status, text := raw(t, path, http.MethodPost, "/api/v1/override", `{"kind":"drain","target":"www","by":"root"}`)
	if status != http.StatusBadRequest || !strings.Contains(text, "unknown field") {
		t.Errorf("a request with a name of its own was answered with %d %s", status, text)
	}
}
