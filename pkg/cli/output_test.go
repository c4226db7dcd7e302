package cli

import (
	"errors"
	"strings"
	"testing"
)

// TestErrorsMoveNoCursor: what was typed, or what a daemon said of it, is told without the
// codes that a terminal obeys.
func TestErrorsMoveNoCursor(t *testing.T) {
	var out strings.Builder
	a := &app{io: IO{Err: &out}}
	a.complain(errors.Join(errors.New("pin \"www\": \x1b[31mX is no answer"), errors.New("unknown flag: --\u202ex")).Error())
	if want := "sidestep: pin \"www\": \\x1b[31mX is no answer\nsidestep: unknown flag: --\\u202ex\n"; out.String() != want {
		t.Errorf("told %q, want %q", out.String(), want)
	}
}
