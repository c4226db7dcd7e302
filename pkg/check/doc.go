// Package check is the vocabulary of probing: what is probed, how and how
// often (Spec), of whom (Target), and what one probe found (Result).
//
// A Result is a fact and never a verdict: pass, fail, or unknown when the
// trouble was ours (no socket, no route, no resolver, no permission). What a
// row of results adds up to is the business of pkg/health.
//
// The package imports the standard library only, holds values only and opens
// nothing; pkg/probe does what a Spec says.
package check
