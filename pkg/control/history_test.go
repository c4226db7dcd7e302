package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/control"
)

// TestHistoryArrivesWhole sends a request with everything in it, and an answer of many
// events with what stands at its end.
func TestHistoryArrivesWhole(t *testing.T) {
	path := socketPath(t)
	begins := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	asked := control.HistoryRequest{
		Since: begins, Until: begins.Add(time.Hour), Kinds: []string{"verdict", "write"}, Target: "web@192.0.2.1", Name: "www", Zone: "example.com", Last: 7,
	}
	var heard control.HistoryRequest
	many, fails := 0, error(nil)
	serve(t, path, backend{history: func(r control.HistoryRequest, each func(json.RawMessage) error) (control.History, error) {
		heard = r
		for i := range many {
			if err := each(fmt.Appendf(nil, `{"at":"2026-01-02T03:00:00Z","kind":"write","n":%d}`, i)); err != nil {
				return control.History{}, err
			}
		}
		return control.History{Begins: &begins, Damaged: 3}, fails
	}})
	for _, many = range []int{0, 1, 5000} {
		got, err := dial(t, path).History(context.Background(), asked)
		if err != nil || len(got.Events) != many || got.Damaged != 3 || got.Begins == nil || !got.Begins.Equal(begins) || got.Error != "" {
			t.Fatalf("of %d events came %d, %v: %+v", many, len(got.Events), err, got.Damaged)
		}
		if many > 0 && !strings.HasSuffix(string(got.Events[many-1]), fmt.Sprintf(`"n":%d}`, many-1)) {
			t.Errorf("the last event is %s", got.Events[many-1])
		}
	}
	if !reflect.DeepEqual(heard, asked) {
		t.Errorf("asked for %+v, heard %+v", asked, heard)
	}
	fails = errors.New("the disk is gone")
	if got, err := dial(t, path).History(context.Background(), asked); err != nil || got.Error != "the disk is gone" || len(got.Events) != many {
		t.Errorf("halfway: %v, %q", err, got.Error)
	}
	many = 0
	if _, err := dial(t, path).History(context.Background(), asked); err == nil || err.Error() != "the disk is gone" {
		t.Errorf("before the first event: %v", err)
	}
	for target, want := range map[string]string{"?last=x": "last: expected", "?last=0": "last: expected", "?since=soon": "since: expected"} {
		if status, text := raw(t, path, "GET", "/api/v1/history"+target, ""); status != 422 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", target, status, text)
		}
	}
}
