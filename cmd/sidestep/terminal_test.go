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

// scriptTerminal runs a command whose stdin and stderr are a terminal, at which
// $ANSWER is typed beforehand where that is set. What the terminal got, and
// echoed, is the script's stderr. (The pseudo-terminal of testscript is closed
// before it was read to its end.)
func scriptTerminal(ts *testscript.TestScript, neg bool, args []string) {
	needArgs(ts, false, args, 1, "[!] terminal COMMAND...")
	master, slave, err := openTerminal()
	ts.Check(err)
	defer master.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), slave, ts.Stdout(), slave
	for _, name := range []string{"PATH", "TERM", "NO_COLOR", "SIDESTEP_CONFIG"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	if answer := ts.Getenv("ANSWER"); answer != "" {
		_, err = fmt.Fprintln(master, answer)
		ts.Check(err)
	}
	err = cmd.Start()
	_ = slave.Close() // the command has its own; when that is gone, reading ends
	ts.Check(err)
	var screen strings.Builder
	_, _ = io.Copy(&screen, master) // the end of a terminal is an error (EIO)
	if err := cmd.Wait(); (err != nil) != neg {
		ts.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
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
