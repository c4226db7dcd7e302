package scenario

import "testing"

// What is not found is asked for its terms all the same.
func TestNoScenarioHasNoTerms(t *testing.T) {
	if terms := (*Scenario)(nil).Terms(); terms != nil {
		t.Errorf("got %v", terms)
	}
}
