package providertest

import (
	"slices"
	"testing"

	"sidestep/pkg/provider"
)

// Case is one promise of the contract.
type Case struct {
	Name    string                       // "take-away/survivor-missing"
	Promise string                       // what is promised, in a sentence
	For     func(provider.Promises) bool // whose promise it is; nil: everybody's
	run     func(*env)
}

// Cases lists the whole suite in the order in which it runs.
func Cases() []Case {
	return slices.Concat(listCases(), pauseCases(), writeCases(), refusalCases(), fenceCases(), releaseCases(), followCases(), errorCases())
}

// Run holds an adapter to every promise of the contract that it makes, and ends
// with a table of them, which `go test -v` shows.
func Run(t *testing.T, w World) {
	t.Helper()
	for name := range w.Skip {
		if !slices.ContainsFunc(Cases(), func(c Case) bool { return c.Name == name }) {
			t.Errorf("World.Skip names %q, which is no case of the suite", name)
		}
	}
	var table overview
	for _, c := range Cases() {
		came := notRun
		t.Run(c.Name, func(t *testing.T) {
			t.Helper()
			defer func() { came = verdictOf(t) }()
			c.on(t, w, &table)
		})
		table.note(c, came)
	}
	t.Log(table.String())
}

func verdictOf(t *testing.T) verdict {
	switch {
	case t.Failed():
		return broken
	case t.Skipped():
		return excepted
	}
	return kept
}

// on runs the case in a fresh zone of the world.
func (c Case) on(t TB, w World, table *overview) {
	t.Helper()
	if reason, skip := w.Skip[c.Name]; skip {
		t.Skipf("does not apply: %s", reason)
	}
	adapter, hand := w.New(t)
	table.promises, table.asked = adapter.Promises(), true
	if c.For != nil && !c.For(adapter.Promises()) {
		t.Skipf("does not apply: this provider does not promise: %s", c.Promise)
	}
	c.run(&env{TB: t, world: w, adapter: adapter, hand: hand})
	if t.Failed() {
		t.Logf("broken promise: %s", c.Promise)
	}
}

func fenced(p provider.Promises) bool { return p.Fenced }
func single(p provider.Promises) bool { return p.Single }

// neverEmptied are the providers at which no call can empty a set whatever an
// operator does in the gap: the call itself carries or compares the survivors.
func neverEmptied(p provider.Promises) bool { return p.Fenced || p.Whole }
