package httpfake

import (
	"fmt"
	"slices"
	"sync"
)

// Journal is what came to a fake's zone, for a person to read. Its methods may be called
// from any goroutine.
type Journal struct {
	mu    sync.Mutex
	lines []string
}

// Note writes a change down, with its number.
func (j *Journal) Note(change string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf("%d %s", len(j.lines)+1, change))
}

// History lists every change that came through the API, a line each, in order.
func (j *Journal) History() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.lines)
}
