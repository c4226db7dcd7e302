package health

import (
	"testing"

	"pgregory.net/rapid"
)

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		says []Verdict
		down int
		want Verdict
	}{
		{[]Verdict{Down, Up, Up}, 2, Up},
		{[]Verdict{Down, Down, Up}, 2, Down},
		{[]Verdict{Down, Unknown, Unknown}, 2, Unknown},
		{[]Verdict{Up, Unknown, Unknown}, 2, Unknown},
		{[]Verdict{Down, Unknown, Up}, 2, Unknown},
		{[]Verdict{Up, Up, Unknown}, 2, Up},
		{[]Verdict{Up, Up, Unknown}, 1, Unknown}, // the third could still say down
		{[]Verdict{Up, Up, Up}, 1, Up},
		{[]Verdict{Up, Down, Unknown}, 1, Down},
		{[]Verdict{Up, Unknown, Unknown}, 3, Up},
		{[]Verdict{Down}, 1, Down},
		{[]Verdict{"", Suspected}, 1, Unknown},
	} {
		if got := Count(tt.says, tt.down); got != tt.want {
			t.Errorf("%d of %v must say down: got %s, want %s", tt.down, tt.says, got, tt.want)
		}
	}
}

// Down and up are what holds whatever those say that have not said anything: so one
// more word never takes a verdict back, and silence never makes one.
func TestCountIsWhatNobodyCanChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		says := rapid.SliceOfN(rapid.SampledFrom([]Verdict{Up, Down, Unknown}), 1, 6).Draw(t, "says")
		down := rapid.IntRange(1, len(says)).Draw(t, "down")
		always := map[Verdict]bool{Up: true, Down: true}
		var try func(i int, completed []Verdict)
		try = func(i int, completed []Verdict) {
			if i < len(says) {
				if says[i] != Unknown {
					try(i+1, append(completed, says[i]))
					return
				}
				try(i+1, append(completed[:i:i], Up))
				try(i+1, append(completed[:i:i], Down))
				return
			}
			downs := 0
			for _, v := range completed {
				if v == Down {
					downs++
				}
			}
			always[Down] = always[Down] && downs >= down
			always[Up] = always[Up] && downs < down
		}
		try(0, nil)
		want := Unknown
		for _, v := range []Verdict{Up, Down} {
			if always[v] {
				want = v
			}
		}
		if got := Count(says, down); got != want {
			t.Fatalf("%d of %v: got %s, want %s", down, says, got, want)
		}
	})
}
