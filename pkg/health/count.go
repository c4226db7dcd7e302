package health

// Count adds up what several vantages say of one target, each by its own
// thresholds: Down when at least down of them say so, Up when so many say up that
// down of them could not say down whatever the others said, else Unknown. A
// vantage that has no say counts as Unknown, which is neither.
func Count(says []Verdict, down int) Verdict {
	downs, ups := 0, 0
	for _, verdict := range says {
		switch verdict {
		case Down:
			downs++
		case Up:
			ups++
		case Unknown, Suspected:
		}
	}
	switch {
	case downs >= down:
		return Down
	case ups >= len(says)-down+1:
		return Up
	}
	return Unknown
}
