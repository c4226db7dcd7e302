// Package authoritytest runs name servers for tests, each with one zone.
package authoritytest
