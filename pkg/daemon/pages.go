package daemon

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forgetStart gives back the pages of the program itself that only its start has
// used: the libraries of every provider and of etcd make themselves ready then, and
// the kernel maps what lies around each page that was touched. That is a fifth of
// what a daemon with 10,000 targets needs. A page that is used again comes back
// from the file cache. Only what is mapped from the program's file, cannot be
// written to and never was is given back: a program that is built to be loaded
// anywhere (-buildmode=pie) has constants that were written to when it was loaded.
// Where that cannot be told, nothing is.
func forgetStart() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }() // it was read
	for _, s := range untouched(maps, program) {
		page := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(nil), s.begin)), s.length) //nolint:gosec // an address of this process, which is not read here
		_ = unix.Madvise(page, unix.MADV_DONTNEED)                                        // advice: the pages stay where it is not taken
	}
}

// span is a part of the memory.
type span struct {
	begin  uintptr
	length int
}

// untouched lists the parts of a file that are mapped, not writable, and as they
// stand in the file, from what /proc/self/smaps says of each (proc_pid_smaps(5)).
func untouched(smaps io.Reader, file string) (spans []span) {
	var at span
	mapped := false
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 0:
		case !strings.HasSuffix(fields[0], ":"): // begins a mapping
			at.begin, at.length, mapped = unwritable(lines.Text(), file)
		case mapped && fields[0] == "Anonymous:" && len(fields) > 1 && fields[1] == "0":
			spans = append(spans, at)
		}
	}
	return spans
}

// unwritable reads a line of /proc/self/maps (proc_pid_maps(5)): the span of a part
// of a file that is mapped and not writable.
func unwritable(line, file string) (begin uintptr, length int, ok bool) {
	fields := strings.Fields(line)
	if len(fields) != 6 || fields[5] != file || len(fields[1]) != 4 || fields[1][1] != '-' || fields[1][3] != 'p' {
		return 0, 0, false
	}
	from, to, found := strings.Cut(fields[0], "-")
	first, err1 := strconv.ParseUint(from, 16, 64)
	last, err2 := strconv.ParseUint(to, 16, 64)
	if !found || err1 != nil || err2 != nil || last <= first {
		return 0, 0, false
	}
	return uintptr(first), int(last - first), true
}
