package scenario

import (
	"testing"

	"pgregory.net/rapid"
)

var truths = []Truth{False, Unknown, True}

// TestKleeneTables holds the operators against the tables of Kleene's strong
// logic (Introduction to Metamathematics, section 64).
func TestKleeneTables(t *testing.T) {
	for _, c := range []struct{ a, b, and, or Truth }{
		{False, False, False, False}, {False, Unknown, False, Unknown}, {False, True, False, True},
		{Unknown, False, False, Unknown}, {Unknown, Unknown, Unknown, Unknown}, {Unknown, True, Unknown, True},
		{True, False, False, True}, {True, Unknown, Unknown, True}, {True, True, True, True},
	} {
		if and, or := c.a.And(c.b), c.a.Or(c.b); and != c.and || or != c.or {
			t.Errorf("%s and %s: got %s, want %s; or: got %s, want %s", c.a, c.b, and, c.and, or, c.or)
		}
	}
	if True.Not() != False || False.Not() != True || Unknown.Not() != Unknown {
		t.Error("not is wrong")
	}
	if Of(true) != True || Of(false) != False {
		t.Error("Of is wrong")
	}
}

func TestKleeneLaws(t *testing.T) {
	for _, a := range truths {
		for _, b := range truths {
			if a.And(b).Not() != a.Not().Or(b.Not()) || a.Or(b).Not() != a.Not().And(b.Not()) {
				t.Errorf("De Morgan: %s, %s", a, b)
			}
			if a.And(b) != b.And(a) || a.Or(b) != b.Or(a) {
				t.Errorf("the order matters: %s, %s", a, b)
			}
			if a.And(a.Or(b)) != a || a.Or(a.And(b)) != a {
				t.Errorf("absorption: %s, %s", a, b)
			}
			for _, c := range truths {
				if a.And(b.Or(c)) != a.And(b).Or(a.And(c)) || a.Or(b.And(c)) != a.Or(b).And(a.Or(c)) {
					t.Errorf("distribution: %s, %s, %s", a, b, c)
				}
			}
		}
		if a.Not().Not() != a {
			t.Errorf("twice not: %s", a)
		}
	}
}

// TestAtLeastIsEveryGate: of all inputs it is And, of one it is Or, and of N it
// says what every way of deciding the unknown ones agrees on.
func TestAtLeastIsEveryGate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inputs := rapid.SliceOfN(rapid.SampledFrom(truths), 1, 6).Draw(t, "inputs")
		need := rapid.IntRange(1, len(inputs)).Draw(t, "need")
		var trues, unknowns int
		and, or := True, False
		for _, v := range inputs {
			and, or = and.And(v), or.Or(v)
			switch v {
			case True:
				trues++
			case Unknown:
				unknowns++
			case False:
			}
		}
		got := atLeast(int32(need), int32(trues), int32(unknowns))
		worst, best := Of(trues >= need), Of(trues+unknowns >= need)
		if want := agreed(worst, best); got != want {
			t.Fatalf("at least %d of %v: got %s, want %s", need, inputs, got, want)
		}
		if need == len(inputs) && got != and || need == 1 && got != or {
			t.Fatalf("at least %d of %v: got %s, all %s, any %s", need, inputs, got, and, or)
		}
	})
}

func agreed(a, b Truth) Truth {
	if a == b {
		return a
	}
	return Unknown
}
