package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// scriptTerminal runs a command whose stderr is a terminal. What the terminal
// got is the script's stderr. (The pseudo-terminal of testscript is closed
// before it was read to its end.)
func scriptTerminal(ts *testscript.TestScript, neg bool, args []string) {
	needArgs(ts, neg, args, 1, "terminal COMMAND...")
	master, slave, err := openTerminal()
	ts.Check(err)
	defer master.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), ts.Stdout(), slave
	for _, name := range []string{"PATH", "TERM", "NO_COLOR", "SIDESTEP_CONFIG"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	err = cmd.Start()
	_ = slave.Close() // the command has its own; when that is gone, reading ends
	ts.Check(err)
	var screen strings.Builder
	_, _ = io.Copy(&screen, master) // the end of a terminal is an error (EIO)
	ts.Check(cmd.Wait())
	fmt.Fprint(ts.Stderr(), strings.ReplaceAll(screen.String(), "\r\n", "\n"))
}

// openTerminal makes a pseudo-terminal (pts(4)).
func openTerminal() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	if err == nil {
		var number int
		if number, err = unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN); err == nil {
			slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
		}
	}
	if err != nil {
		_ = master.Close() // it is not needed
	}
	return master, slave, err
}
