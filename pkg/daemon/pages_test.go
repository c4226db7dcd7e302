package daemon

import (
	"slices"
	"strings"
	"testing"
)

// A program that can be loaded anywhere has constants that its loading has written
// to: they stand in no file.
func TestPagesThatWereWrittenToAreKept(t *testing.T) {
	const smaps = `00400000-00b40000 r-xp 00000000 08:01 42                         /usr/bin/sidestep
Size:               7424 kB
Rss:                7000 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
00b40000-01000000 r--p 00740000 08:01 42                         /usr/bin/sidestep
Size:               4864 kB
Anonymous:           128 kB
01000000-01100000 rw-p 00c00000 08:01 42                         /usr/bin/sidestep
Anonymous:             0 kB
7f0000000000-7f0000010000 r-xp 00000000 08:01 43                 /usr/lib/libc.so.6
Anonymous:             0 kB
`
	if got, want := untouched(strings.NewReader(smaps), "/usr/bin/sidestep"), []span{{0x400000, 0x740000}}; !slices.Equal(got, want) {
		t.Errorf("%x, expected %x", got, want)
	}
}

// TestOnlyTheProgramsOwnPagesAreForgotten: code and constants, and nothing that
// was written to, shared, or belongs to another file.
func TestOnlyTheProgramsOwnPagesAreForgotten(t *testing.T) {
	const program = "/usr/bin/sidestep"
	for line, want := range map[string]int{
		"00400000-00401000 r--p 00000000 08:01 42                         /usr/bin/sidestep":           0x1000,
		"00401000-00b40000 r-xp 00001000 08:01 42                         /usr/bin/sidestep":           0xb40000 - 0x401000,
		"01000000-01100000 rw-p 00c00000 08:01 42                         /usr/bin/sidestep":           0,
		"01000000-01100000 r--s 00c00000 08:01 42                         /usr/bin/sidestep":           0,
		"7f0000000000-7f0000010000 r-xp 00000000 08:01 43                 /usr/lib/libc.so.6":          0,
		"c000000000-c000400000 rw-p 00000000 00:00 0 ":                                                 0,
		"7ffd0000-7ffd1000 r-xp 00000000 00:00 0                          [vdso]":                      0,
		"00401000-00b40000 r-xp 00001000 08:01 42                         /usr/bin/sidestep (deleted)": 0,
		"00b40000-00401000 r-xp 00001000 08:01 42                         /usr/bin/sidestep":           0,
		"nonsense": 0,
	} {
		_, length, ok := unwritable(line, program)
		if length != want || ok != (want > 0) {
			t.Errorf("%s: %d bytes, %v; want %d", line, length, ok, want)
		}
	}
}
