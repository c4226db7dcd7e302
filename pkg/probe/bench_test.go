package probe

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/check"
	"sidestep/pkg/probe/probetest"
)

const benchRounds = 9

// serveBenchTarget is the target of the benchmark in a process of its own, so
// that its CPU time is not counted: a TCP listener that accepts and closes, and
// one that answers 200. It ends with its standard input.
func serveBenchTarget() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	listen := func(treat func(net.Conn)) int {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				go treat(conn)
			}
		}()
		return listener.Addr().(*net.TCPAddr).Port
	}
	reply := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
	tcp := listen(func(conn net.Conn) { _ = conn.Close() })
	http := listen(func(conn net.Conn) {
		defer conn.Close()
		if _, err := conn.Read(make([]byte, 4096)); err == nil {
			_, _ = conn.Write(reply)
		}
	})
	fmt.Println(tcp, http)
	select {}
}

// benchTarget starts the target and gives its ports.
func benchTarget(b *testing.B) (tcp, http int) {
	b.Helper()
	cmd := child(b, "bench-target")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	ports := strings.Fields(line)
	if len(ports) != 2 {
		b.Fatalf("target said %q", line)
	}
	tcp, errTCP := strconv.Atoi(ports[0])
	http, errHTTP := strconv.Atoi(ports[1])
	if errTCP != nil || errHTTP != nil {
		b.Fatalf("target said %q", line)
	}
	return tcp, http
}

// bareTCP is the barest TCP check over the standard library: dial with a
// deadline, reset. No context, no result, no clock.
func bareTCP(address string) error {
	d := net.Dialer{Timeout: patience, KeepAlive: -1}
	conn, err := d.Dial("tcp", address)
	if err != nil {
		return err
	}
	_ = conn.(*net.TCPConn).SetLinger(0)
	return conn.Close()
}

// bareHTTP is the barest HTTP check: dial, one deadline, one write of constant
// bytes, one read, a comparison of the status line's first bytes, reset. It
// parses no header and would not see an answer that comes in two pieces.
func bareHTTP(address string, request, buffer []byte) error {
	d := net.Dialer{Timeout: patience, KeepAlive: -1}
	conn, err := d.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetLinger(0)
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := conn.Write(request); err != nil {
		return err
	}
	n, err := conn.Read(buffer)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(buffer[:n], []byte("HTTP/1.1 200")) {
		return fmt.Errorf("got %q", buffer[:n])
	}
	return nil
}

// BenchmarkProbeCPU compares the CPU time of a probe with that of the barest
// loop in Go, over the same target and in interleaved rounds; medians of the
// ratios of the rounds. One iteration is the whole comparison.
func BenchmarkProbeCPU(b *testing.B) {
	tcpPort, httpPort := benchTarget(b)
	address := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	p := New(func() time.Duration { return 0 }, Options{})
	probing := func(spec *check.Spec) func() func() error {
		return func() func() error {
			return func() error {
				if r := p.Probe(context.Background(), spec, "127.0.0.1"); r.Outcome != check.Pass {
					return fmt.Errorf("%+v", r)
				}
				return nil
			}
		}
	}
	request := []byte("GET /healthz HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: sidestep\r\nConnection: close\r\nAccept-Encoding: identity\r\n\r\n")
	loops := []struct {
		name      string
		makeProbe func() func() error
		times     []float64
	}{
		{name: "bare-tcp", makeProbe: func() func() error { return func() error { return bareTCP(address(tcpPort)) } }},
		{name: "tcp", makeProbe: probing(tcpSpec(uint16(tcpPort)))},
		{name: "bare-http", makeProbe: func() func() error {
			buffer := make([]byte, 4096)
			return func() error { return bareHTTP(address(httpPort), request, buffer) }
		}},
		{name: "http", makeProbe: probing(httpSpec(uint16(httpPort)))},
		{name: "http-body", makeProbe: probing(httpSpec(uint16(httpPort), matching("ok")))},
	}
	for b.Loop() {
		for round := range benchRounds + 1 { // the first one warms up
			for i := range loops {
				used := probetest.Measure(b, loops[i].makeProbe)
				if round > 0 {
					loops[i].times = append(loops[i].times, float64(used.Nanoseconds())/1000)
				}
			}
		}
	}
	ratio := func(of, to int) float64 {
		all := make([]float64, len(loops[of].times))
		for i := range all {
			all[i] = loops[of].times[i] / loops[to].times[i]
		}
		return probetest.Median(all)
	}
	b.ReportMetric(0, "ns/op") // says nothing here
	for _, l := range loops {
		b.ReportMetric(probetest.Median(l.times), l.name+"-cpu-us")
	}
	b.ReportMetric(ratio(1, 0), "tcp-ratio")
	b.ReportMetric(ratio(3, 2), "http-ratio")
	b.ReportMetric(ratio(4, 2), "http-body-ratio")
}
