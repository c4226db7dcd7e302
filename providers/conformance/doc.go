// Package conformance holds the adapters to suites that this project did not
// write. It is a module of its own, because only these tests may depend on what
// the suites depend on: a later libdns than the main module's, and the vendors'
// own SDKs. It has no code that anything could import.
package conformance
