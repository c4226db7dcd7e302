package webtest

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"sidestep/pkg/provider/providertest/realserver"
)

// tab is a tab of a real Chromium.
type tab struct {
	*testing.T
	ctx context.Context
}

// faults collects in a page what went wrong there: errors that nobody caught, and
// what the page's policy stopped.
const faults = `window.faults = [];
addEventListener("error", (e) => faults.push(String(e.message || e.target?.src || e.target?.href)), true);
addEventListener("unhandledrejection", (e) => faults.push("not caught: " + e.reason));
addEventListener("securitypolicyviolation", (e) => faults.push("policy: " + e.violatedDirective + " " + e.blockedURI));`

// open starts a Chromium that is gone with the test, and opens an address.
func open(t *testing.T, url string) tab {
	t.Helper()
	path := realserver.Require(t, "chromium", "chromium")
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.Headless, chromedp.DisableGPU,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(patience),
	}
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it has none for root
	}
	ctx, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)
	ctx, endTab := chromedp.NewContext(ctx)
	t.Cleanup(endTab)
	b := tab{t, ctx}
	// The first steps start the browser, which ends with their context.
	if err := chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: faults})
		return err
	})); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	b.do(chromedp.EmulateViewport(1400, 900), chromedp.Navigate(url))
	return b
}

func (b tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// eval is what an expression comes to in the page.
func eval[T any](b tab, expression string) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return value
}

// waitFor waits until an expression is true in the page.
func (b tab) waitFor(what, expression string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(0))); err != nil {
		b.shoot("failed")
		b.Fatalf("wait until %s: %v; the page says:\n%s", what, err, eval[string](b, "document.body.innerText"))
	}
}

// has waits until an element that a selector finds has a text.
func (b tab) has(selector, text string) {
	b.Helper()
	b.waitFor(selector+" has "+text, `[...document.querySelectorAll(`+strconv.Quote(selector)+`)].some((e) => e.innerText.includes(`+strconv.Quote(text)+`))`)
}

// click presses the button that stands for an act, by the keyboard.
func (b tab) press(act string) {
	b.Helper()
	selector := `[data-act="` + act + `"]`
	b.waitFor("there is "+selector, `document.querySelector(`+strconv.Quote(selector)+`) !== null`)
	b.do(chromedp.Focus(chromedp.CSS(selector)), chromedp.KeyEvent("\r"))
	b.waitFor("the dialog is open", `document.querySelector("#dialog").open`)
}

// sound fails the test where something went wrong in the page.
func (b tab) sound() {
	b.Helper()
	if list := eval[[]string](b, "window.faults"); len(list) > 0 {
		b.Errorf("in the page went wrong: %q", list)
	}
}

// accessible has axe look at the page as it is, in light and in dark.
func (b tab) accessible(what string) {
	b.Helper()
	eval[bool](b, axe(b)+`;true`)
	for _, scheme := range []string{"light", "dark"} {
		b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
			})
			return err
		}))
		b.shoot(what + "-" + scheme)
		for _, finding := range eval[[]string](b, `axe.run({resultTypes: ["violations"]}).then((found) => found.violations
			.filter((v) => ["serious", "critical"].includes(v.impact))
			.flatMap((v) => v.nodes.map((n) => v.id + " (" + v.impact + "): " + v.help + ": " + n.html.slice(0, 200) + " " + n.failureSummary)))`) {
			b.Errorf("axe finds in %s, %s: %s", what, scheme, finding)
		}
	}
}

func axe(b tab) string {
	b.Helper()
	script, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		b.Fatal(err)
	}
	return string(script)
}

// shoot keeps a picture of the page: in the directory that SIDESTEP_SCREENSHOTS
// names, else in one that goes with the test.
func (b tab) shoot(name string) {
	b.Helper()
	dir := os.Getenv("SIDESTEP_SCREENSHOTS")
	if dir == "" {
		dir = b.TempDir()
	}
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".png")
	if err := os.WriteFile(path, picture, 0o600); err != nil {
		b.Fatal(err)
	}
	b.Logf("%s: %s, %d bytes", name, path, len(picture))
}
