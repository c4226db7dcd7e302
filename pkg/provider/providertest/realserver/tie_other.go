//go:build !linux

package realserver

import "syscall"

// tied does nothing here: only Linux can tie a child to its parent.
func tied() *syscall.SysProcAttr { return nil }
