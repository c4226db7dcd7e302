package daemon

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
)

// past are the events that a request picks, as "KIND TARGET-OR-VALUE".
func (r *running) past(request control.HistoryRequest) []string {
	r.w.Helper()
	events := []string{}
	_, err := r.History(r.w.Context(), request, func(event json.RawMessage) error {
		var e struct{ Kind, Target, Value, What string }
		if err := json.Unmarshal(event, &e); err != nil {
			return err
		}
		events = append(events, strings.TrimSpace(e.Kind+" "+e.Target+e.Value+e.What))
		return nil
	})
	if err != nil {
		r.w.Fatal(err)
	}
	return events
}

// The journal of a daemon tells of its start, of a reload and of one that was refused,
// and what is picked of it is what was asked for.
func TestHistoryOfADaemon(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		w := newWorld(t, class)
		var refuse error
		d := w.run(w.reloading(func(*config.Config) error { return refuse }))
		time.Sleep(settled)
		before := w.clock.Wall()
		time.Sleep(time.Second)
		if err := d.Reload(); err != nil {
			t.Fatal(err)
		}
		refuse = errors.New("no such key")
		if err := d.Reload(); err == nil {
			t.Fatal("a bad config came into force")
		}
		for _, c := range []struct {
			request control.HistoryRequest
			want    []string
		}{
			{control.HistoryRequest{Kinds: []string{"config"}}, []string{"config started", "config reloaded", "config refused"}},
			{control.HistoryRequest{Kinds: []string{"config"}, Last: 2}, []string{"config reloaded", "config refused"}},
			{control.HistoryRequest{Since: before}, []string{"config reloaded", "config refused"}},
			{control.HistoryRequest{Until: before, Kinds: []string{"config", "leader"}}, []string{"config started", "leader won"}},
			{control.HistoryRequest{Target: "WEB@" + a}, []string{"verdict web@" + a}},
			{control.HistoryRequest{Target: a}, []string{"verdict web@" + a}},
			{control.HistoryRequest{Name: "www", Kinds: []string{"verdict"}}, []string{"verdict web@" + a, "verdict web@" + b}},
			{control.HistoryRequest{Name: "gone.example.com", Kinds: []string{"verdict"}}, []string{}},
		} {
			got := d.past(c.request)
			slices.SortStableFunc(got, func(a, b string) int { // verdicts of one moment
				if strings.HasPrefix(a, "verdict") && strings.HasPrefix(b, "verdict") {
					return strings.Compare(a, b)
				}
				return 0
			})
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v picks %q, want %q", c.request, got, c.want)
			}
		}
	})
}

// TestNewestOfMany keeps the last ones in their order.
func TestNewestOfMany(t *testing.T) {
	for most := range 5 {
		kept := newest{most: most + 1}
		for _, text := range []string{"1", "2", "3"} {
			kept.add(json.RawMessage(text))
		}
		var got strings.Builder
		for _, event := range kept.list() {
			got.Write(event)
		}
		if want := "123"[max(0, 2-most):]; got.String() != want {
			t.Errorf("the last %d are %q, want %q", most+1, got.String(), want)
		}
	}
}
