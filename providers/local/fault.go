package local

import (
	"errors"
	"fmt"

	"sidestep/pkg/provider"
)

// fault is an error inside the package: what went wrong and what a caller may
// do about it. The adapter's methods give it the operation.
type fault struct {
	class provider.Class
	err   error
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

func failf(class provider.Class, format string, args ...any) error {
	return &fault{class, fmt.Errorf(format, args...)}
}

// failed names the operation and the file of an error; nil stays nil. One
// without a class comes from a draft that could not be made: nothing has
// happened, and the next time would be no better.
func (a *Adapter) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	class := provider.Permanent
	if f, ok := errors.AsType[*fault](err); ok {
		class = f.class
	}
	return &provider.Error{Class: class, Op: fmt.Sprintf("%s the zone file %s", op, a.path), Err: err}
}
