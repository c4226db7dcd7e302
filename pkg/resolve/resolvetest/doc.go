// Package resolvetest is a resolver for tests, on loopback: it answers from
// records that the test gives it, can be made to fail in the ways in which
// resolvers fail, and keeps a list of what it was asked.
package resolvetest
