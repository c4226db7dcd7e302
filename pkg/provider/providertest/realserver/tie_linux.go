package realserver

import "syscall"

// tied has the kernel end the server when the test process dies without its
// clean-up, as it does on a test's time-out. It takes effect when the thread
// that started the server ends, which is why that thread is held.
func tied() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
