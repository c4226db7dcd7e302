package webtest

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestDemoInABrowser is what a person does at night: sees a server die, sees the
// answer change, drains a site with a reason, and takes that back.
func TestDemoInABrowser(t *testing.T) {
	d := startDemo(t)
	b := open(t, d.page)
	b.has("#summary", "nothing down")
	b.has("#records h3", "www.demo.test")
	b.allLive()
	d.answersWith(t, "www.demo.test", d.hosts...)
	b.has("#targets .latency", " ms")
	b.shoot("all well")

	d.turn(t, "break", "b1")
	b.has("#summary", "1 down")
	b.has("#targets .target", "connect/refused")
	b.has("#records .answer", "paused")
	b.has("#timeline .event", "pause "+d.hosts[0])
	d.answersWith(t, "www.demo.test", d.hosts[1], d.hosts[2])
	b.accessible("one down")

	d.turn(t, "mend", "b1")
	b.has("#summary", "nothing down")
	d.answersWith(t, "www.demo.test", d.hosts...)

	drainAndBack(b, d, func() { b.shoot("dialog") })
	phone(b)
	drainAndBack(b, d, func() { b.accessible("dialog on a phone") })
	b.accessible("phone")
	b.sound()
}

// drainAndBack drains the site west by the page, looks at the dialog, and takes that
// back.
func drainAndBack(b tab, d *demo, look func()) {
	b.Helper()
	b.allLive()
	b.press("drain west")
	b.has("#dialog .foreseen", d.hosts[2]+" goes out")
	look()
	b.do(chromedp.SetValue(chromedp.CSS("#word-for"), "30m"), chromedp.SendKeys(chromedp.CSS("#word-reason"), "new <b>kernel</b>\r"))
	b.has("#dialog [role=status]", "said: drain west until")
	b.do(chromedp.KeyEvent("\r"))
	b.waitFor("the dialog is closed", `!document.querySelector("#dialog").open`)
	b.has("#overrides .card", "new <b>kernel</b>")
	b.has("#overrides .card", "said by demo")
	b.has("#sites .card", "maintenance")
	b.has("#records .answer", "drained with west by demo until ")
	if texts := eval[[]string](b, `document.body.innerText.match(/.*\d{4}-\d\d-\d\dT.*/g) ?? []`); len(texts) > 0 {
		b.Errorf("times in UTC beside those of this browser: %q", texts)
	}
	d.answersWith(b.T, "www.demo.test", d.hosts[0], d.hosts[1])

	b.press("clear drain west")
	b.do(chromedp.KeyEvent("\r"))
	b.has("#dialog [role=status]", "cleared: drain west")
	b.do(chromedp.KeyEvent("\r"))
	b.has("#overrides", "There are none")
	d.answersWith(b.T, "www.demo.test", d.hosts...)
}

// allLive waits until all answers of www are, as the daemon knows.
func (b tab) allLive() {
	b.Helper()
	b.waitFor("three answers of www are live", `[...document.querySelectorAll("#records .card")].some((e) => e.innerText.includes("www.demo.test") && e.querySelectorAll(".is-live").length === 3)`)
}

// phone makes the window that of a telephone, where nothing may stand out to the
// side.
func phone(b tab) {
	b.Helper()
	b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch))
	if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > 390 {
		b.Errorf("at 390 pixels the page is %d wide", wide)
	}
}
