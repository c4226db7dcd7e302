package authority

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// program finds a program of the field; without it the test is skipped, unless
// real programs are required.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("SIDESTEP_TEST_REAL") == "require" {
		t.Fatalf("%s is required and not installed: %v", name, err)
	}
	t.Skipf("%s is not installed: %v", name, err)
	return ""
}

// dig asks with a client that shares no code with us.
func dig(t *testing.T, s *Server, args ...string) string {
	t.Helper()
	host, port, _ := strings.Cut(s.Addr(), ":")
	args = append([]string{"@" + host, "-p", port, "+tries=1", "+time=10", "+norec"}, args...)
	out, err := exec.Command(program(t, "dig"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("dig %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestDig(t *testing.T) {
	s := serve(t, exampleZone(t), Options{})
	big := serve(t, bigZone(t), Options{})
	for name, c := range map[string]struct {
		server *Server
		args   []string
		want   []string
	}{
		"positive": {s, []string{"www.example.com", "A"},
			[]string{"status: NOERROR", "flags: qr aa;", "ANSWER: 3,", "udp: 1232", "192.0.2.1\n", "192.0.2.2\n", "192.0.2.3\n"}},
		"case":     {s, []string{"WwW.Example.com", "AAAA"}, []string{"WwW.Example.com.", "2001:db8::1"}},
		"nxdomain": {s, []string{"nothing.example.com", "A"}, []string{"status: NXDOMAIN", "AUTHORITY: 1,", "example.com.\t\t60\tIN\tSOA"}},
		"nodata":   {s, []string{"www.example.com", "MX"}, []string{"status: NOERROR", "ANSWER: 0, AUTHORITY: 1,"}},
		"wildcard": {s, []string{"what.ever.wild.example.com", "TXT"}, []string{"\"from the wildcard\""}},
		"referral": {s, []string{"a.sub.example.com", "A"}, []string{"flags: qr;", "ANSWER: 0, AUTHORITY: 2, ADDITIONAL: 4", "192.0.2.90"}},
		"refused":  {s, []string{"www.example.net", "A"}, []string{"status: REFUSED"}},
		"any":      {s, []string{"www.example.com", "ANY"}, []string{"status: NOERROR", "ANSWER: 3,"}},
		"notify":   {s, []string{"+opcode=notify", "example.com", "SOA"}, []string{"status: NOTIMP"}},
		"badvers":  {s, []string{"+edns=1", "+noednsnegotiation", "example.com", "SOA"}, []string{"status: BADVERS"}},
		"tcp":      {s, []string{"+tcp", "www.example.com", "A"}, []string{"status: NOERROR", "(TCP)"}},
		"axfr":     {s, []string{"example.com", "AXFR"}, []string{"*.wild.example.com.", "XFR size: 38 records"}},
		"big axfr": {big, []string{"example.com", "AXFR"}, []string{"XFR size: 3003 records", "messages"}},
		"ixfr":     {s, []string{"example.com", "IXFR=1"}, []string{"XFR size: 38 records"}},
	} {
		t.Run(name, func(t *testing.T) {
			out := dig(t, c.server, c.args...)
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("want %q in\n%s", want, out)
				}
			}
		})
	}
}

// TestSameAnswersAsNamed asks the server and BIND the same questions about the
// same zone: every name of it, names below and beside each, of many types.
func TestSameAnswersAsNamed(t *testing.T) {
	text, err := os.ReadFile("testdata/example.com.zone")
	if err != nil {
		t.Fatal(err)
	}
	z := exampleZone(t)
	named := startNamed(t, text)
	ours := serve(t, z, Options{})
	client := &dns.Client{Net: "tcp", Timeout: patience}
	theirConn, ourConn := dial(t, client, named), dial(t, client, ours.Addr())
	asked := 0
	for _, name := range questions(z) {
		for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeTXT, dns.TypeCNAME, dns.TypeNS, dns.TypeDS, dns.TypeSOA} {
			asked++
			req := ask(name, kind)
			req.RecursionDesired = false
			want := essence(t, client, theirConn, req.Copy())
			if got := essence(t, client, ourConn, req); got != want {
				t.Errorf("%s %s\nours:  %s\nnamed: %s", name, typeName(kind), got, want)
			}
		}
	}
	if asked < 500 {
		t.Errorf("only %d questions asked", asked)
	}
}

// questions are the names of a zone, one and two labels below each, a wildcard
// below each, and names outside.
func questions(z *Zone) []string {
	names := []string{"example.net.", "com."}
	for _, name := range z.names() {
		names = append(names, name, "qq."+name, "qq.ww."+name, "*."+name, strings.ToUpper(name))
	}
	return names
}

func dial(t *testing.T, client *dns.Client, addr string) *dns.Conn {
	t.Helper()
	conn, err := client.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// essence is what an answer means, in text: without order, and without what a
// server may add at will.
func essence(t *testing.T, client *dns.Client, conn *dns.Conn, req *dns.Msg) string {
	t.Helper()
	m, _, err := client.ExchangeWithConn(req, conn)
	if err != nil {
		t.Fatalf("%s: %v", req.Question[0].Name, err)
	}
	section := func(rrs []dns.RR) string {
		var lines []string
		for _, rr := range rrs {
			lines = append(lines, strings.ToLower(strings.Join(strings.Fields(rr.String()), " ")))
		}
		slices.Sort(lines)
		return strings.Join(lines, ", ")
	}
	return fmt.Sprintf("%s aa=%v answer[%s] authority[%s]", dns.RcodeToString[m.Rcode], m.Authoritative, section(m.Answer), section(m.Ns))
}

// startNamed runs BIND with the zone on a free port and waits until it answers.
func startNamed(t *testing.T, zone []byte) (addr string) {
	t.Helper()
	path := program(t, "named")
	scout := New(Options{})
	if err := scout.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	addr = scout.Addr()
	if err := scout.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, port, _ := strings.Cut(addr, ":")
	config := fmt.Sprintf(`options {
	directory %[1]q; listen-on port %[2]s { 127.0.0.1; }; listen-on-v6 { none; };
	pid-file %[3]q; session-keyfile %[4]q; recursion no; minimal-responses yes; dnssec-validation no; notify no; zero-no-soa-ttl no;
};
controls { };
zone "example.com" { type primary; file "zone"; check-integrity no; check-names ignore; };
`, dir, port, filepath.Join(dir, "pid"), filepath.Join(dir, "key"))
	for name, data := range map[string][]byte{"named.conf": []byte(config), "zone": zone} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	cmd := exec.Command(path, "-g", "-4", "-n", "1", "-c", filepath.Join(dir, "named.conf"))
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended by itself, which the wait below tells
		<-exited
		if t.Failed() {
			t.Logf("named:\n%s", log.String())
		}
	})
	client := &dns.Client{Timeout: time.Second}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		m, _, err := client.Exchange(ask("example.com.", dns.TypeSOA), addr)
		if err == nil && len(m.Answer) == 1 {
			return addr
		}
	}
	t.Fatal("named does not answer")
	return ""
}
