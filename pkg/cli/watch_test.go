package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sidestep/pkg/control"
)

// pages remembers what was shown, and ends after so many looks.
type pages struct {
	shown []watched
	ticks int
	end   func()
	most  int
}

func (p *pages) show(w watched) error {
	if p.shown = append(p.shown, w); len(p.shown) == p.most {
		p.end()
	}
	return nil
}
func (p *pages) tick(watched) error        { p.ticks++; return nil }
func (p *pages) signals() <-chan os.Signal { return nil }
func (p *pages) signal(os.Signal)          {}
func (p *pages) leave()                    {}

func afterMS(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// TestWatchLooksAtOnce at an event, each second while the daemon is away, and else
// seldom; and never so often that looking is all that the daemon does.
func TestWatchLooksAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began := time.Now()
		var asked []time.Duration
		ask := func() (control.Status, error) {
			asked = append(asked, time.Since(began))
			switch len(asked) {
			case 3:
				time.Sleep(time.Second) // a large status
			case 5, 6:
				return control.Status{}, errors.New("nobody listens")
			}
			return control.Status{Node: "mon-1"}, nil
		}
		wake := make(chan struct{}, 1)
		p := &pages{end: cancel, most: 8}
		for _, at := range []int{2500, 2510, 2600, 2700} {
			time.AfterFunc(afterMS(at), func() {
				select {
				case wake <- struct{}{}:
				default:
				}
			})
		}
		w := watched{status: control.Status{Node: "mon-1"}, at: began}
		if err := w.loop(ctx, p, ask, wake); err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{afterMS(2500), afterMS(2600), afterMS(2700)}
		if len(asked) != 7 || !slices.Equal(asked[:3], want) {
			t.Errorf("asked after %s, want %s at the beginning", asked, want)
		}
		for i := 3; i < len(asked); i++ {
			if gap := asked[i] - asked[i-1]; gap < time.Second || gap > watchSeldom+watchTick {
				t.Errorf("asked after %s: a gap of %s", asked, gap)
			}
		}
		if away := p.shown[5]; !away.away() || away.status.Node != "mon-1" || away.at.Equal(began) {
			t.Errorf("without a daemon it shows %+v", away)
		}
		if p.shown[7].away() || w.away() || p.ticks == 0 {
			t.Errorf("with a daemon again: %v; %d ticks", p.shown[7].gone, p.ticks)
		}
	})
}

// TestWatchPrintsChangesOnly where no terminal is redrawn.
func TestWatchPrintsChangesOnly(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out, said strings.Builder
		a := testApp()
		a.io.Out, a.io.Err, a.json = &out, &said, asJSON
		page := a.watchPage()
		show := func(verdict string, passes int, gone error) {
			t.Helper()
			s := control.Status{Node: "mon-1", Targets: []control.Target{{ID: "web@192.0.2.1", Verdict: verdict, Passes: passes, Detail: "\x1b[2Jbad"}}}
			if err := page.show(watched{status: s, at: time.Now(), gone: gone}); err != nil {
				t.Fatal(err)
			}
		}
		show("up", 1, nil)
		show("up", 2, nil) // no change
		show("up", 2, errors.New("nobody listens"))
		show("up", 2, errors.New("nobody listens"))
		show("up", 3, nil)
		show("down", 0, nil)
		blocks, unit := strings.Count(out.String(), "at 2"), "blocks"
		if asJSON {
			blocks, unit = strings.Count(out.String(), "\n"), "lines"
		}
		if blocks != 2 || strings.Contains(out.String(), "\x1b") {
			t.Errorf("%d %s:\n%q", blocks, unit, out.String())
		}
		const want = "sidestep: the daemon went away: nobody listens; going on when it is back\nsidestep: the daemon is back\n"
		if said.String() != want {
			t.Errorf("said %q, want %q", said.String(), want)
		}
	}
}

// TestFrameFits the terminal, whatever its size, and colours nothing where it may not.
func TestFrameFits(t *testing.T) {
	lines := []string{"03:12:09  as it changes", "", "  192.0.2.1  paused  down  " + strings.Repeat("三x", 100), "notice: x", "last"}
	for width := 1; width < 300; width += 7 {
		for height := 1; height < 8; height++ {
			for _, colour := range []bool{false, true} {
				text := frame(lines, width, height, colour)
				if strings.Contains(text, "\x1b[31m") != (colour && height > 3) {
					t.Fatalf("%d×%d, colour %v: %q", width, height, colour, text)
				}
				bare := strings.NewReplacer("\x1b[H", "", "\x1b[K", "", "\x1b[J", "", bold, "", red, "", plain, "").Replace(text)
				got := strings.Split(bare, "\r\n")
				for _, line := range got {
					if n := len([]rune(line)); n >= max(width, 2) || strings.Contains(line, "\x1b") {
						t.Fatalf("%d×%d: %d wide: %q", width, height, n, line)
					}
				}
				if len(got) != min(height, len(lines)) {
					t.Fatalf("%d×%d: %d lines: %q", width, height, len(got), got)
				}
			}
		}
	}
	if text := frame(lines, 80, 3, false); !strings.Contains(text, "… and 3 more lines: sidestep status") {
		t.Errorf("what is left out is not said: %q", text)
	}
}

// TestWatchedTextsAreHarmless: nothing that a status holds reaches the terminal as a code.
func TestWatchedTextsAreHarmless(t *testing.T) {
	hostile := "\x1b[2J\x1b]0;x\a\r\u202e\u009b31m"
	s := control.Status{Node: hostile, Notices: []string{hostile}, Targets: []control.Target{{ID: "web@192.0.2.1", Detail: hostile}}}
	head := watchHead(watched{status: s, gone: errors.New(hostile)}, time.Now())
	for _, line := range append(head, testApp().statusLines(s, time.Now())...) {
		if strings.ContainsAny(line, "\x1b\a\r\u202e\u009b") {
			t.Errorf("%q", line)
		}
	}
}
