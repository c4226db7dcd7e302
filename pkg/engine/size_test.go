package engine

import (
	"testing"
	"unsafe"
)

// With ten thousand targets each byte of one is ten kilobytes.
func TestTallyIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(tally{}); size > 64 {
		t.Errorf("a tally takes %d bytes, at most 64 are meant", size)
	}
}
