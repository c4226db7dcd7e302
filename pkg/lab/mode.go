package lab

import (
	"fmt"
	"strconv"
	"strings"
)

// Mode is how a backend behaves: OK, or one of the ways to be broken.
type Mode string

// The modes; Status makes the others.
const (
	OK     Mode = "ok"     // answers
	Refuse Mode = "refuse" // listens no more: the kernel refuses connections
	Hang   Mode = "hang"   // accepts and never answers
	Reset  Mode = "reset"  // accepts, and resets the connection at the request
)

// Status is the mode in which every request is answered with an HTTP status of
// 200 to 599.
func Status(code int) Mode { return Mode("status " + strconv.Itoa(code)) }

// ParseMode reads a mode as people write it: "ok", "refuse", "hang", "reset",
// "status 503" or "503".
func ParseMode(s string) (Mode, error) {
	text := strings.TrimSpace(s)
	switch m := Mode(text); m {
	case OK, Refuse, Hang, Reset:
		return m, nil
	}
	code, err := strconv.Atoi(strings.TrimPrefix(text, "status "))
	if err != nil || code < 200 || code > 599 {
		return "", fmt.Errorf("read mode %q: expected ok, refuse, hang, reset, or a status of 200 to 599 as status 503", s)
	}
	return Status(code), nil
}

// status is the code of a Status mode, 200 for OK; zero for the others.
func (m Mode) status() int {
	if m == OK {
		return 200
	}
	text, found := strings.CutPrefix(string(m), "status ")
	if !found {
		return 0
	}
	code, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return code
}
