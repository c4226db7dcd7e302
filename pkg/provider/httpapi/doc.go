// Package httpapi is the road from an adapter to a vendor's HTTP API: one
// request, sent once, whose outcome is classed by what can be known of it.
//
// A request that never left is Retryable. One that left and has no answer is
// Retryable when it was a read and Ambiguous when it was a write, because it
// may still take effect. An answer that is no answer of the API (an HTML page
// of a proxy, a redirect, a truncated or oversized body) is treated the same
// way: it says nothing about what happened; but a redirect of a read is
// Permanent, because it will be there tomorrow. Only the adapter can read the
// vendor's own error codes; it does so on what Do returns, and falls back on
// Classify. An answer of "too many requests" holds every call of the credential
// for as long as it says.
//
// The package retries nothing, follows no redirect (the next host would be
// given the credential), keeps no cookie, and puts no credential into an error;
// what a server says goes into one through Foreign only.
// The limiter is asked first, because its wait may be long; then the request is
// signed, so that the signature is young; then the gate is asked, last.
//
// The adapters in providers/ are its users; httpfake, below it, is what their
// fake servers are scripted with. What they make of it is the contract in
// pkg/provider.
package httpapi
