// Package httpfake is what the fake servers of the HTTP providers have in
// common: a loopback listener, a record of the requests, and a script of what
// goes wrong with which of them. A fake's own package knows its vendor's
// resources and rules, and is where to go on; this one knows HTTP only.
package httpfake
