package daemon

import (
	"bufio"
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
// from the file cache. Only what is mapped from the program's file and cannot be
// written to is given back; where that cannot be told, nothing is.
func forgetStart() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }() // it was read
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if begin, length, ok := unwritable(lines.Text(), program); ok {
			page := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(nil), begin)), length) //nolint:gosec // an address of this process, which is not read here
			_ = unix.Madvise(page, unix.MADV_DONTNEED)                                    // advice: the pages stay where it is not taken
		}
	}
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
