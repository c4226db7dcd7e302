package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sidestep/pkg/control"
	"sidestep/pkg/lab"
)

var update = flag.Bool("update", false, "rewrite what the scripts in testdata/script expect; read the diff")

// TestScripts plays the scripts in testdata/script: each is a user at a
// terminal, with the commands of testscript and those of scriptCommands.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		Setup:               setUpScript,
		Cmds:                scriptCommands,
		UpdateScripts:       *update,
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
	})
}

// scriptCommands are what the scripts say beside the commands of testscript.
var scriptCommands = map[string]func(*testscript.TestScript, bool, []string){
	// exits CODE COMMAND...  runs a command, which has to exit with CODE.
	"exits": scriptExits,
	// lab N  starts web servers at $IP1 to $IPN, port $PORT.
	"lab": scriptLab,
	// break N MODE, mend N  breaks and mends one of them.
	"break": scriptBreak,
	"mend":  scriptMend,
	// fill FILE...  puts the environment into files: @NAME@ is $NAME.
	"fill": scriptFill,
	// waitup N  waits until the daemon at $SOCKET leads and judges N targets up.
	"waitup": scriptWaitUp,
	// waitprobe N  waits until the Nth web server was asked.
	"waitprobe": scriptWaitProbe,
	// isjson FILE  is one JSON value and nothing else; with a shape's name it
	// has that shape, with something in every list.
	"isjson": scriptIsJSON,
	// nowhere TEXT FILE...  looks for TEXT in files and below directories.
	"nowhere": scriptNowhere,
	// terminal COMMAND...  runs a command whose stdin and stderr are a terminal, at
	// which $ANSWER is typed.
	"terminal": scriptTerminal,
	// eventually COMMAND... REGEXP  runs a command until its output matches.
	"eventually": scriptEventually,
	// ask STATUS METHOD PATH TOKEN [BODY]  asks the API at $FREEPORT until it answers with
	// STATUS; the answer is the file answer.
	"ask": scriptAsk,
	// corrupt DIR  damages every saved state in a state directory.
	"corrupt": scriptCorrupt,
	// pick NAME REGEXP FILE  sets $NAME to the first group of what matches.
	"pick": scriptPick,
}

// backendsKey is where a script keeps its web servers.
type backendsKey struct{}

func setUpScript(env *testscript.Env) error {
	env.Values[backendsKey{}] = &[]*lab.Backend{}
	// The scripts' directories are short enough for a socket.
	env.Setenv("SOCKET", filepath.Join(env.WorkDir, "c.sock"))
	port, err := dnsPort()
	if err != nil {
		return err
	}
	env.Setenv("FREEPORT", strconv.Itoa(port))
	env.Setenv("SIDESTEP_CONFIG", "sidestep.yaml")
	return nil
}

// nextPort is where dnsPort looks next. It begins somewhere else in each
// process, and below the ports that the kernel gives to outgoing connections.
var nextPort = func() *atomic.Int32 {
	at := new(atomic.Int32)
	at.Store(int32(20000 + os.Getpid()%10000))
	return at
}()

// dnsPort finds a port of 127.0.0.1 that is free for UDP and for TCP, and that
// no other script gets.
func dnsPort() (int, error) {
	for range 100 {
		port := int(nextPort.Add(1))
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		udp, err := net.ListenPacket("udp", addr)
		if err != nil {
			continue
		}
		tcp, err := net.Listen("tcp", addr)
		if err == nil {
			return port, errors.Join(udp.Close(), tcp.Close())
		}
		_ = udp.Close() // the next port is tried
	}
	return 0, errors.New("no free port for a name server")
}

func backendsOf(ts *testscript.TestScript) *[]*lab.Backend {
	list, is := ts.Value(backendsKey{}).(*[]*lab.Backend)
	if !is {
		ts.Fatalf("the script has no place for web servers")
	}
	return list
}

func needArgs(ts *testscript.TestScript, neg bool, args []string, least int, usage string) {
	if neg || len(args) < least {
		ts.Fatalf("usage: %s", usage)
	}
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	needArgs(ts, neg, args, 2, "exits CODE COMMAND...")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s exited with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

func scriptLab(ts *testscript.TestScript, neg bool, args []string) {
	needArgs(ts, neg, args, 1, "lab N")
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	list := backendsOf(ts)
	*list, err = startLab(n)
	ts.Check(err)
	for i, b := range *list {
		ts.Defer(func() { _ = b.Close() })
		host, port, err := net.SplitHostPort(b.Addr())
		ts.Check(err)
		ts.Setenv(fmt.Sprintf("IP%d", i+1), host)
		ts.Setenv("PORT", port)
	}
}

// startLab starts n web servers. Another script may take a free port in
// between: then others are tried.
func startLab(n int) (list []*lab.Backend, err error) {
	for range 10 {
		var addrs []string
		if addrs, err = lab.FreeAddrs(n); err != nil {
			return nil, err
		}
		list = nil
		for i, addr := range addrs {
			b := lab.NewBackend(fmt.Sprintf("b%d", i+1), addr)
			if err = b.Start(); err != nil {
				break
			}
			list = append(list, b)
		}
		if err == nil {
			return list, nil
		}
		for _, b := range list {
			_ = b.Close() // it is not needed
		}
	}
	return nil, err
}

func backendOf(ts *testscript.TestScript, number string) *lab.Backend {
	n, err := strconv.Atoi(number)
	ts.Check(err)
	list := *backendsOf(ts)
	if n < 1 || n > len(list) {
		ts.Fatalf("there are %d web servers, not %d", len(list), n)
	}
	return list[n-1]
}

func scriptBreak(ts *testscript.TestScript, neg bool, args []string) {
	needArgs(ts, neg, args, 2, "break N MODE")
	mode, err := lab.ParseMode(args[1])
	ts.Check(err)
	ts.Check(backendOf(ts, args[0]).Break(mode))
}

func scriptMend(ts *testscript.TestScript, neg bool, args []string) {
	needArgs(ts, neg, args, 1, "mend N")
	ts.Check(backendOf(ts, args[0]).Mend())
}

var placeholder = regexp.MustCompile(`@[A-Z][A-Z0-9]*@`)

func scriptFill(ts *testscript.TestScript, neg bool, args []string) {
	needArgs(ts, neg, args, 1, "fill FILE...")
	for _, file := range args {
		text := placeholder.ReplaceAllStringFunc(ts.ReadFile(file), func(name string) string {
			value := ts.Getenv(strings.Trim(name, "@"))
			if value == "" {
				ts.Fatalf("%s: %s is not set", file, name)
			}
			return value
		})
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o600))
	}
}

// eventually waits until a condition holds.
func eventually(ts *testscript.TestScript, what string, holds func() bool) {
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("waited %s for %s", patience, what)
		}
	}
}

func scriptWaitUp(ts *testscript.TestScript, neg bool, args []string) {
	needArgs(ts, neg, args, 1, "waitup N")
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	socket := ts.Getenv("SOCKET")
	eventually(ts, args[0]+" targets to be up", func() bool {
		client, err := control.Dial(context.Background(), socket)
		if err != nil {
			return false
		}
		status, err := client.Status(context.Background(), "")
		if err != nil || status.Leader.State != "leader" || !status.Zones[0].Listed {
			return false
		}
		verdicts := map[string]int{}
		for _, t := range status.Targets {
			verdicts[t.Verdict]++
		}
		return verdicts["up"] == n && verdicts["unknown"] == 0
	})
}

func scriptWaitProbe(ts *testscript.TestScript, neg bool, args []string) {
	needArgs(ts, neg, args, 1, "waitprobe N")
	b := backendOf(ts, args[0])
	before := b.Requests()
	eventually(ts, "a request to web server "+args[0], func() bool { return b.Requests() > before })
}

func scriptIsJSON(ts *testscript.TestScript, neg bool, args []string) {
	needArgs(ts, neg, args, 1, "isjson FILE [SHAPE]")
	decoder := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	var value any
	if err := decoder.Decode(&value); err != nil {
		ts.Fatalf("%s is not JSON: %v", args[0], err)
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		ts.Fatalf("%s holds more than one JSON value: %v", args[0], err)
	}
	if len(args) == 1 {
		return
	}
	shape, known := shapes[args[1]]
	if !known {
		ts.Fatalf("no shape %q", args[1])
	}
	for _, wrong := range misfits(args[1], shape, value) {
		ts.Logf("%s", wrong)
		defer ts.Fatalf("%s has not the shape %s", args[0], args[1])
	}
}

func scriptNowhere(ts *testscript.TestScript, neg bool, args []string) {
	needArgs(ts, neg, args, 2, "nowhere TEXT FILE...")
	for _, file := range args[1:] {
		if file == "stdout" || file == "stderr" {
			if strings.Contains(ts.ReadFile(file), args[0]) {
				ts.Fatalf("%s holds %q", file, args[0])
			}
			continue
		}
		ts.Check(filepath.WalkDir(ts.MkAbs(file), func(path string, entry os.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if err == nil && strings.Contains(string(data), args[0]) {
				err = fmt.Errorf("%s holds %q", path, args[0])
			}
			return err
		}))
	}
}

func scriptEventually(ts *testscript.TestScript, neg bool, args []string) {
	needArgs(ts, neg, args, 2, "eventually COMMAND... REGEXP")
	command, pattern := args[:len(args)-1], regexp.MustCompile(args[len(args)-1])
	eventually(ts, strings.Join(args, " "), func() bool {
		return ts.Exec(command[0], command[1:]...) == nil && pattern.MatchString(ts.ReadFile("stdout"))
	})
}

func scriptCorrupt(ts *testscript.TestScript, neg bool, args []string) {
	needArgs(ts, neg, args, 1, "corrupt DIR")
	files, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "state.json*"))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("no state is saved in %s", args[0])
	}
	for _, file := range files {
		ts.Check(os.WriteFile(file, []byte(`{"half of`), 0o600))
	}
}

func scriptPick(ts *testscript.TestScript, neg bool, args []string) {
	needArgs(ts, neg, args, 3, "pick NAME REGEXP FILE")
	match := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile(args[2]))
	if len(match) < 2 {
		ts.Fatalf("nothing in %s matches %q", args[2], args[1])
	}
	ts.Setenv(args[0], match[1])
}
