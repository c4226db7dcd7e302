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

// What is seldom needed of a target stands behind a pointer that is nil for most.
func TestTargetIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(target{}); size > 352 {
		t.Errorf("a target takes %d bytes, at most 352 are meant", size)
	}
	if size := unsafe.Sizeof(cooldown{}); size > 48 {
		t.Errorf("the pauses of a target take %d bytes, at most 48 are meant", size)
	}
}
