package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sidestep/pkg/control"
)

// TestFollowHearsEveryEvent over the socket, in order, until the backend cuts the stream.
func TestFollowHearsEveryEvent(t *testing.T) {
	events := make(chan control.StreamEvent)
	path := socketPath(t)
	serve(t, path, backend{events: events})
	want := []control.StreamEvent{
		{Name: "journal", Data: json.RawMessage(`{"kind":"write","detail":"a: b"}`)},
		{Name: "status", Data: json.RawMessage(`{}`)},
	}
	opened := 0
	var heard []control.StreamEvent
	err := dial(t, path).Follow(t.Context(), func() {
		opened++
		go func() {
			for _, e := range want {
				events <- e
			}
			close(events)
		}()
	}, func(e control.StreamEvent) { heard = append(heard, e) })
	if diff := cmp.Diff(want, heard); diff != "" || opened != 1 {
		t.Errorf("opened %d times; -want +heard:\n%s", opened, diff)
	}
	if err == nil {
		t.Error("the end of the stream was no error")
	}
}

// TestFollowWithoutADaemon, or with one that says no, or after its caller ended.
func TestFollowWithoutADaemon(t *testing.T) {
	never := func() { t.Error("it was opened") }
	path := socketPath(t)
	stop := serve(t, path, deaf{})
	client := dial(t, path)
	if err := client.Follow(t.Context(), never, nil); err == nil || err.Error() != "too many listen" {
		t.Errorf("refused: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := client.Follow(ctx, never, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if err := client.Follow(t.Context(), never, nil); !errors.Is(err, control.ErrNoDaemon) {
		t.Errorf("without a daemon: %v", err)
	}
}

// deaf lets nobody listen.
type deaf struct{ backend }

func (deaf) Events(context.Context) (<-chan control.StreamEvent, error) {
	return nil, &control.Error{Message: "too many listen", Exit: control.ExitFailure}
}
