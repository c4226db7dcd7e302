package control

import "time"

// SetGrace is how long requests under way may go on after Serve was told to end.
// It is called before Serve.
func (s *Server) SetGrace(grace time.Duration) { s.grace = grace }
