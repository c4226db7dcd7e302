package control

import "errors"

// Error is an answer that says no. Exit is what the command exits with.
type Error struct {
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Exit    int    `json:"exit"`
}

// Error is the message and the hint.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

// ExitOf is the exit code that an error asks for, ExitFailure when it does not
// say.
func ExitOf(err error) int {
	if err == nil {
		return ExitDone
	}
	if e, is := errors.AsType[*Error](err); is {
		return e.Exit
	}
	return ExitFailure
}

// ErrNoDaemon says that nobody listens on the socket.
var ErrNoDaemon = errors.New("no daemon listens on the control socket")
