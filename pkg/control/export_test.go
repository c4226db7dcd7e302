package control

import (
	"net/netip"
	"time"
)

// SetGrace is how long requests under way may go on after Serve was told to end.
// It is called before Serve.
func (s *Server) SetGrace(grace time.Duration) { s.grace = grace }

// SetHeaderWithin is how long the head of a request may take to come. It is called
// before Serve.
func (s *Server) SetHeaderWithin(d time.Duration) { s.http.ReadHeaderTimeout = d }

// The bounds that tests go up to.
const (
	MaxConnections = maxConnections
	WrongMost      = wrongMost
	WrongWithin    = wrongWithin
	WrongKept      = wrongKept
)

// Blocked and Failed are what the door asks of an Access.
func (a *Access) Blocked(from netip.Addr, now time.Time) bool { return a.blocked(from, now) > 0 }

// Failed counts a wrong token.
func (a *Access) Failed(from netip.Addr, now time.Time) { a.failed(from, now) }
