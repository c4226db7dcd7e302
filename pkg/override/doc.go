// Package override is an operator's word that goes before what the probes say:
// what it asks for, of what, by whom, why, and until when. It is a value and
// does nothing: pkg/engine decides what an override means in the config that is
// in force, when it begins and when it ends.
//
// An override always has a reason and an end that somebody chose. One without
// an end is possible, and has to be asked for in so many words (ParseFor).
package override
