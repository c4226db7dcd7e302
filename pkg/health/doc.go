// Package health adds the results of one target up to a verdict: fall failures
// in a row bring it down, rise passes in a row bring it up, and what was our
// own fault counts neither way.
//
// Somebody who has doubts about a row of failures may call a target suspected: it
// keeps its verdict and takes so many more failures to go down.
//
// What a failure counts as may depend on its cause: on nothing at all, or on a
// person, until whom the target stays down. A target that is down may be left
// alone for growing pauses between two attempts; what a pause is made of, and
// where in its life a target is, says Cooldown.
//
// It sees one target at a time, holds no clock and no config, and never looks
// at record sets: pkg/engine keeps the states and pkg/steer decides what they
// mean for a name.
package health
