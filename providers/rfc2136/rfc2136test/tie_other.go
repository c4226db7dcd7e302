//go:build !linux

package rfc2136test

import "syscall"

// tied does nothing here: only Linux can tie a child to its parent.
func tied() *syscall.SysProcAttr { return nil }
