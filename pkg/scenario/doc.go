// Package scenario says whether conditions hold: the signals of data centres,
// their states, and scenarios, which are groups of terms that must all hold,
// of which one group is enough.
//
// There are three values, because what nobody has judged yet is neither true
// nor false: Kleene's strong logic, in which an unknown input matters only
// where the known ones do not settle the matter. All of it is one kind of gate,
// "at least so many of these hold": a signal needs any, all or N of its targets,
// a group all of its terms, a scenario one of its groups.
//
// Compile makes a Net of a definition. Its inputs are the verdicts of targets
// and the maintenance of sites. Set changes an input, and Settle carries the
// change on through those gates only that hang on it, each once, in the order in
// which they build on each other: no value is ever told that the end of the
// change does not bear out. A verdict changes once its thresholds are reached,
// so a term that is between them keeps its value, and the rest goes on with it.
//
// The package knows names and values, no results and no time. A Net is not safe
// for concurrent use. The road goes on in pkg/engine, which owns the one Net and
// decides by it which answers are usable.
package scenario
