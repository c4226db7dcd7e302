// Package conformance holds the adapters to suites that this project did not
// write. It is a module of its own, because only these tests may depend on what
// the suites depend on: a later libdns than the main module's, and the vendors'
// own SDKs. It also holds the released libdns modules to what an adapter would
// have to rely on, and writes the outcome into providers/TRUST.md. The manifest
// for Kubernetes is read as its API server reads it, by the types of k8s.io/api.
// It has no code that anything could import. Beside the tests stands a server that the main
// module's tests build and run, etcdserver, for the same reason.
package conformance
