package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// filesNeeded is the limit on open files that the target of 10,000 addresses
// needs when a fifth of them hang.
const filesNeeded = 20_000

// Control lets the target be commanded over a unix socket until ctx ends. A
// command is one line: mark, dump, fault KIND I..., heal I.... The answer begins
// with a line, "ok NOW N" or "error TEXT"; NOW is the target's clock in
// nanoseconds. N arrivals follow a dump, each 12 bytes, big-endian: nanoseconds
// and target.
func (t *Target) Control(ctx context.Context, listener net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		err = t.obey(conn)
		_ = conn.Close()
		if !errors.Is(err, io.EOF) {
			return err
		}
	}
}

// obey takes the commands of one connection until that ends.
func (t *Target) obey(conn net.Conn) error {
	in, out := bufio.NewReader(conn), bufio.NewWriter(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		dump, err := t.command(strings.Fields(line))
		if err != nil {
			fmt.Fprintf(out, "error %s\n", err)
		} else {
			fmt.Fprintf(out, "ok %d %d\n", t.now(), len(dump))
		}
		var wire [12]byte
		for _, a := range dump {
			binary.BigEndian.PutUint64(wire[:], uint64(a.At))
			binary.BigEndian.PutUint32(wire[8:], uint32(a.Index))
			_, _ = out.Write(wire[:]) // kept by out, and said by Flush
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

func (t *Target) command(words []string) ([]Arrival, error) {
	if len(words) == 0 {
		return nil, errors.New("expected a command, got an empty line")
	}
	rest := words[1:]
	switch words[0] {
	case "mark":
		t.Mark()
		return nil, nil
	case "dump":
		return t.Dump(), nil
	case "heal":
		list, err := indexes(rest)
		if err != nil {
			return nil, err
		}
		return nil, t.Set("", list...)
	case "fault":
		return nil, t.fault(rest)
	}
	return nil, fmt.Errorf("expected mark, dump, fault or heal, got %q", words[0])
}

func (t *Target) fault(words []string) error {
	if len(words) == 0 {
		return errors.New("expected a kind of fault, got none")
	}
	switch kind := Fault(words[0]); kind {
	case Refuse, Hang, Err500, Reset:
		list, err := indexes(words[1:])
		if err != nil {
			return err
		}
		return t.Set(kind, list...)
	}
	return fmt.Errorf("expected refuse, hang, 500 or rst, got %q", words[0])
}

func indexes(words []string) ([]int, error) {
	list := make([]int, len(words))
	for i, word := range words {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("expected the number of a target, got %q", word)
		}
		list[i] = n
	}
	return list, nil
}

// Remote commands a target in another process.
type Remote struct {
	conn net.Conn
	in   *bufio.Reader
}

// Dial connects to the control socket of a target.
func Dial(ctx context.Context, path string) (*Remote, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("reach the target: %w", err)
	}
	return &Remote{conn, bufio.NewReaderSize(conn, 64<<10)}, nil
}

// Close ends the connection.
func (r *Remote) Close() error { return r.conn.Close() }

// Mark forgets the arrivals so far and gives the time of the target's clock.
func (r *Remote) Mark() (time.Duration, error) {
	now, _, err := r.ask("mark")
	return now, err
}

// Set gives targets a fault, or heals them with the empty one.
func (r *Remote) Set(fault Fault, targets ...int) error {
	words := []string{"fault", string(fault)}
	if fault == "" {
		words = []string{"heal"}
	}
	for _, i := range targets {
		words = append(words, strconv.Itoa(i))
	}
	_, _, err := r.ask(strings.Join(words, " "))
	return err
}

// Dump gives the arrivals since the last mark.
func (r *Remote) Dump() ([]Arrival, error) {
	list, _, err := r.dump()
	return list, err
}

// dump gives the time of the target's clock, too.
func (r *Remote) dump() ([]Arrival, time.Duration, error) {
	now, n, err := r.ask("dump")
	if err != nil {
		return nil, 0, err
	}
	list := make([]Arrival, n)
	var wire [12]byte
	for i := range list {
		if _, err := io.ReadFull(r.in, wire[:]); err != nil {
			return nil, 0, fmt.Errorf("read arrivals: %w", err)
		}
		list[i] = Arrival{time.Duration(binary.BigEndian.Uint64(wire[:])), int32(binary.BigEndian.Uint32(wire[8:]))}
	}
	return list, now, nil
}

func (r *Remote) ask(line string) (now time.Duration, n int, err error) {
	if _, err := fmt.Fprintln(r.conn, line); err != nil {
		return 0, 0, fmt.Errorf("command the target: %w", err)
	}
	answer, err := r.in.ReadString('\n')
	if err != nil {
		return 0, 0, fmt.Errorf("command the target: %w", err)
	}
	if rest, refused := strings.CutPrefix(answer, "error "); refused {
		return 0, 0, fmt.Errorf("command the target: %s", strings.TrimSpace(rest))
	}
	if _, err := fmt.Sscanf(answer, "ok %d %d\n", &now, &n); err != nil {
		return 0, 0, fmt.Errorf("command the target: expected ok, time and number, got %q", answer)
	}
	return now, n, nil
}
