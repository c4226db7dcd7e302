package observe

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The measures of the picture, in pixels.
const (
	svgLeft   = 230 // where the time begins; what is before it names the clocks
	svgWide   = 900 // of the time
	svgRight  = 30
	svgTop    = 70
	svgLane   = 26 // height of a bar
	svgPitch  = 40 // from one lane to the next
	svgLetter = 6.6
)

// svgColours are those of what was said, in the order of its first appearance;
// all of them are light, for the text on them is dark.
var svgColours = []string{"#a6cee3", "#fdbf6f", "#b2df8a", "#cab2d6", "#ffff99", "#fccde5", "#ccebc5", "#d9d9d9"}

// svgBad is the colour of everything that is no answer, which is also hatched.
const svgBad = "#fb9a99"

// SVG draws the clocks of a timeline on one time axis: a lane for each name
// server, the resolver with its remaining TTL as a line, the kept connection and
// new ones. Each thing that was said has a number and a colour, the same in
// every lane, and stands in the legend. The writer gets a whole SVG 1.1
// document, also for an empty timeline.
func (t *Timeline) SVG(w io.Writer, title string) error {
	d := drawing{t: t, title: title}
	_, err := io.WriteString(w, d.draw())
	if err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}

// said is one bar: what a clock said, and from when on.
type said struct {
	text string
	key  string // what has one colour: the address or the values
	good bool
	from time.Time
}

type lane struct {
	name string
	bars []said
}

type drawing struct {
	t     *Timeline
	title string
	out   strings.Builder
	keys  []string
	good  map[string]bool
}

func (d *drawing) draw() string {
	lanes := d.t.lanes()
	d.good = map[string]bool{}
	for _, l := range lanes {
		for _, bar := range l.bars {
			if !slices.Contains(d.keys, bar.key) {
				d.keys = append(d.keys, bar.key)
			}
			d.good[bar.key] = bar.good
		}
	}
	wide := svgLeft + svgWide + svgRight
	axis := svgTop + len(lanes)*svgPitch
	legend := axis + 50
	high := legend + 22*(len(d.keys)+1) + 20
	d.line(`<?xml version="1.0" encoding="UTF-8"?>`)
	d.line(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" fill="#222222">`, wide, high, wide, high)
	d.line(`<title>%s</title>`, escape(d.title))
	d.line(`<defs><pattern id="bad" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" fill="%s"/><path d="M0 6L6 0" stroke="#f6d0d0" stroke-width="2"/></pattern></defs>`, svgBad)
	d.line(`<rect width="%d" height="%d" fill="#ffffff"/>`, wide, high)
	d.line(`<text x="16" y="28" font-size="16">%s</text>`, escape(d.title))
	if n := len(d.t.Samples); n > 0 {
		d.line(`<text x="16" y="48">%s</text>`, escape(fmt.Sprintf("%d samples from %s", n, d.t.Samples[0].At.Format(time.RFC3339))))
	}
	d.axis(axis)
	for i, l := range lanes {
		d.lane(l, svgTop+i*svgPitch)
	}
	d.legend(legend)
	d.line(`</svg>`)
	return d.out.String()
}

func (d *drawing) line(format string, args ...any) { fmt.Fprintf(&d.out, format+"\n", args...) }

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}

// lanes sorts a timeline by clock.
func (t *Timeline) lanes() []lane {
	if len(t.Samples) == 0 {
		return nil
	}
	var lanes []lane
	add := func(name string, of func(Sample) (text, key string, good bool), came func(Sample) time.Time) {
		l := lane{name: name}
		for _, s := range t.Samples {
			text, key, good := of(s)
			switch n := len(l.bars); {
			case n == 0:
				l.bars = []said{{text, key, good, s.At}}
			case l.bars[n-1].text != text:
				l.bars = append(l.bars, said{text, key, good, came(s)})
			}
		}
		lanes = append(lanes, l)
	}
	ofView := func(v View) (text, key string, good bool) { return v.Said(), v.Said(), v.Outcome == Answered }
	for i, v := range t.Samples[0].Servers {
		add(v.Server.String(), func(s Sample) (text, key string, good bool) { return ofView(s.Servers[i]) }, func(s Sample) time.Time { return s.came(s.Servers[i]) })
	}
	add("resolver "+t.Samples[0].Resolver.Server.String(), func(s Sample) (text, key string, good bool) { return ofView(s.Resolver) }, func(s Sample) time.Time { return s.came(s.Resolver) })
	if t.Samples[0].Kept != nil {
		add("kept connection", func(s Sample) (text, key string, good bool) { return ofReplies([]Reply{*s.Kept}) }, func(s Sample) time.Time { return s.allCame([]Reply{*s.Kept}) })
		add("new connection", func(s Sample) (text, key string, good bool) { return ofReplies(s.New) }, func(s Sample) time.Time { return s.allCame(s.New) })
	}
	return lanes
}

// ofReplies gives what was reached the colour of its addresses, so that it is
// that of the answer that led there.
func ofReplies(replies []Reply) (text, key string, good bool) {
	addresses := make([]string, len(replies))
	good = true
	for i, r := range replies {
		if r.Address.IsValid() {
			addresses[i] = r.Address.Addr().String()
		}
		good = good && r.Reached() && r.Status < http.StatusBadRequest
	}
	if !good {
		return SaysAll(replies), SaysAll(replies), false
	}
	return SaysAll(replies), strings.Join(addresses, ","), true
}

// span is the time that the picture covers, at least a second.
func (d *drawing) span() time.Duration {
	n := len(d.t.Samples)
	if n == 0 {
		return time.Second
	}
	last := d.t.Samples[n-1]
	span := last.At.Sub(d.t.Samples[0].At)
	if n > 1 {
		span += max(span/time.Duration(n-1), last.Took) // as long as the others, for the last one
	}
	return max(span, time.Second)
}

// x is where a moment is, within the picture.
func (d *drawing) x(at time.Time) float64 {
	return svgLeft + svgWide*min(1, float64(at.Sub(d.t.Samples[0].At))/float64(d.span()))
}

func (d *drawing) lane(l lane, y int) {
	d.label(l.name, y)
	for i, bar := range l.bars {
		from, to := d.x(bar.from), float64(svgLeft+svgWide)
		if i+1 < len(l.bars) {
			to = d.x(l.bars[i+1].from)
		}
		number := fmt.Sprint(slices.Index(d.keys, bar.key) + 1)
		d.line(`<g class="bar"><title>%s</title><rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" stroke="#666666"/>`,
			escape(l.name+": "+bar.text), from, y, to-from, svgLane, d.fill(bar.key))
		if text := cut(number+"  "+bar.text, to-from-8); text != "" {
			d.line(`<text x="%.1f" y="%d">%s</text>`, from+4, y+svgLane-9, escape(text))
		}
		d.line(`</g>`)
	}
	if strings.HasPrefix(l.name, "resolver ") {
		d.countdown(y)
	}
}

// longest is the longest remaining TTL that was seen.
func (d *drawing) longest() time.Duration {
	longest := time.Duration(0)
	for _, s := range d.t.Samples {
		longest = max(longest, s.Resolver.TTL)
	}
	return longest
}

// label names a lane, on two lines where one has no room for all of it.
func (d *drawing) label(name string, y int) {
	lines, at := []string{name}, y+svgLane-9
	if first, rest, two := strings.Cut(name, " "); two && cut(name, svgLeft-20) != name {
		lines, at = []string{first, rest}, y+svgLane/2-3
	}
	d.line(`<g><title>%s</title>`, escape(name))
	for i, text := range lines {
		d.line(`<text x="%d" y="%d" text-anchor="end">%s</text>`, svgLeft-10, at+14*i, escape(cut(text, svgLeft-20)))
	}
	d.line(`</g>`)
}

// countdown draws the remaining TTL of the resolver: at the top of its lane the
// longest that was seen, at the bottom nothing.
func (d *drawing) countdown(y int) {
	longest := max(d.longest(), 1)
	points := make([]string, len(d.t.Samples))
	for i, s := range d.t.Samples {
		points[i] = fmt.Sprintf("%.1f,%.1f", d.x(s.asked(s.Resolver)), float64(y)+svgLane*(1-float64(s.Resolver.TTL)/float64(longest)))
	}
	d.line(`<polyline points="%s" fill="none" stroke="#222222" stroke-width="1.2"><title>remaining TTL, %s at the top</title></polyline>`, strings.Join(points, " "), longest)
}

// cut leaves of a text what fits into so many pixels, and says that there is more.
func cut(text string, room float64) string {
	letters := []rune(text)
	if fit := int(room / svgLetter); fit < len(letters) {
		if fit < 3 {
			return ""
		}
		return string(letters[:fit-1]) + "…"
	}
	return text
}

func (d *drawing) fill(key string) string {
	if !d.good[key] {
		return "url(#bad)"
	}
	return svgColours[slices.Index(d.keys, key)%len(svgColours)]
}

// axis draws the time, with some ten marks at round seconds.
func (d *drawing) axis(y int) {
	span := d.span()
	step := time.Second
	for _, seconds := range []int{2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400} {
		if span/step <= 10 {
			break
		}
		step = time.Duration(seconds) * time.Second
	}
	for at := time.Duration(0); at <= span && span/step <= 1000; at += step {
		x := svgLeft + svgWide*float64(at)/float64(span)
		d.line(`<path d="M%.1f %dV%d" stroke="#dddddd"/>`, x, svgTop-6, y)
		d.line(`<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, x, y+16, at)
	}
	d.line(`<path d="M%d %dH%d" stroke="#222222"/>`, svgLeft, y, svgLeft+svgWide)
}

func (d *drawing) legend(y int) {
	for i, key := range d.keys {
		d.line(`<rect x="%d" y="%d" width="16" height="16" fill="%s" stroke="#666666"/>`, svgLeft, y+22*i, d.fill(key))
		d.line(`<text x="%d" y="%d">%s</text>`, svgLeft+24, y+22*i+13, escape(fmt.Sprintf("%d  %s", i+1, key)))
	}
	if len(d.t.Samples) > 0 {
		y += 22 * len(d.keys)
		d.line(`<path d="M%d %dL%d %d" stroke="#222222" stroke-width="1.2"/>`, svgLeft, y, svgLeft+16, y+16)
		d.line(`<text x="%d" y="%d">line in the resolver's lane: what is left of its TTL, from %s down to nothing</text>`, svgLeft+24, y+13, d.longest())
	}
}
