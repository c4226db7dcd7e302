package web_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sidestep/pkg/web"
)

func serve(t *testing.T) string {
	t.Helper()
	handler, err := web.Handler()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// ask sends a request as it stands: nothing is unpacked.
func ask(t *testing.T, method, url string, header http.Header) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if request.Header = header; header == nil {
		request.Header = http.Header{}
	}
	client := http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

func pageFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("page/*")
	if err != nil || len(files) < 5 {
		t.Fatalf("files of the page: %v, %v", files, err)
	}
	return files
}

// TestEveryFileIsServed asks for each file of the page, packed and plain, and again
// with what was answered.
func TestEveryFileIsServed(t *testing.T) {
	url, sent := serve(t), 0
	for _, path := range pageFiles(t) {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at := url + "/" + filepath.Base(path)
		plain, body := ask(t, http.MethodGet, at, nil)
		if plain.StatusCode != http.StatusOK || body != string(want) || plain.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: %s, %d bytes of %d", at, plain.Status, len(body), len(want))
		}
		packed, body := ask(t, http.MethodGet, at, http.Header{"Accept-Encoding": {"br, gzip;q=0.5"}})
		sent += len(body)
		unpacked, err := gzip.NewReader(strings.NewReader(body))
		if err != nil || packed.Header.Get("Content-Encoding") != "gzip" || packed.Header.Get("Vary") != "Accept-Encoding" {
			t.Fatalf("%s: %v, %v", at, err, packed.Header)
		}
		if text, err := io.ReadAll(unpacked); err != nil || string(text) != string(want) {
			t.Errorf("%s: unpacked to %d bytes of %d, %v", at, len(text), len(want), err)
		}
		again, _ := ask(t, http.MethodGet, at, http.Header{"Accept-Encoding": {"gzip"}, "If-None-Match": {packed.Header.Get("ETag")}})
		if again.StatusCode != http.StatusNotModified || plain.Header.Get("ETag") == packed.Header.Get("ETag") {
			t.Errorf("%s: asked again: %s; tags %s and %s", at, again.Status, plain.Header.Get("ETag"), packed.Header.Get("ETag"))
		}
	}
	if sent > 150_000 {
		t.Errorf("the page has %d bytes compressed, want 150,000 at most", sent)
	}
	if _, body := ask(t, http.MethodGet, url+"/", nil); !strings.HasPrefix(body, "<!doctype html>") {
		t.Errorf("at / is %.40q", body)
	}
	if refused, _ := ask(t, http.MethodGet, url+"/style.css", http.Header{"Accept-Encoding": {"gzip;q=0"}}); refused.Header.Get("Content-Encoding") != "" {
		t.Error("who refuses gzip got it")
	}
}

func TestEveryAnswerIsGuarded(t *testing.T) {
	url := serve(t)
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/", 200}, {"HEAD", "/app.js", 200}, {"GET", "/nosuch", 404}, {"GET", "/page/app.js", 404},
		{"GET", "/../web.go", 404}, {"GET", "/api/v1/status", 404}, {"POST", "/", 405}, {"PUT", "/app.js", 405},
	} {
		response, _ := ask(t, c.method, url+c.path, nil)
		h := response.Header
		if response.StatusCode != c.status {
			t.Errorf("%s %s: %s, want %d", c.method, c.path, response.Status, c.status)
		}
		policy := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s %s: the policy has no %s: %s", c.method, c.path, part, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s %s: %v", c.method, c.path, h)
		}
	}
}

// TestThePageStandsAlone reads the files for what the policy would stop, or what
// would make HTML out of what a server said.
func TestThePageStandsAlone(t *testing.T) {
	forbidden := regexp.MustCompile(`(?i)innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|localStorage|document\.cookie|\bstyle=|<script>|\son\w+="|(src|href)="?(https?:)?//|@import|url\(`)
	imported := regexp.MustCompile(`from "\./(\w+\.js)"`)
	index, err := os.ReadFile("page/index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pageFiles(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if found := forbidden.FindString(line); found != "" {
				t.Errorf("%s:%d: %s", path, i+1, found)
			}
		}
		for _, m := range imported.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(string(index), `"modulepreload" href="`+m[1]+`"`) {
				t.Errorf("%s imports %s, which index.html does not load beforehand: a round trip more before the first paint", path, m[1])
			}
		}
	}
}
