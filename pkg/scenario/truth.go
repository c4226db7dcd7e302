package scenario

// Truth is whether something holds: True, False, or Unknown, which is the zero
// value. They are ordered, False below Unknown below True.
type Truth int8

// The three values.
const (
	False   Truth = -1
	Unknown Truth = 0
	True    Truth = 1
)

// Of is the value of something known.
func Of(holds bool) Truth {
	if holds {
		return True
	}
	return False
}

// Not is the opposite; that of Unknown is Unknown.
func (t Truth) Not() Truth { return -t }

// And holds when both do.
func (t Truth) And(o Truth) Truth { return min(t, o) }

// Or holds when one of them does.
func (t Truth) Or(o Truth) Truth { return max(t, o) }

// String is true, false or unknown.
func (t Truth) String() string {
	switch t {
	case True:
		return "true"
	case False:
		return "false"
	case Unknown:
	}
	return "unknown"
}

// atLeast is whether need of some inputs hold, of which so many hold and so
// many are unknown.
func atLeast(need, trues, unknowns int32) Truth {
	switch {
	case trues >= need:
		return True
	case trues+unknowns < need:
		return False
	}
	return Unknown
}
