package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"sidestep/pkg/control"
	"sidestep/pkg/lab"
	"sidestep/pkg/observe"
	"sidestep/pkg/record"
)

// storyWithin is how long a step of the story may take before it did not hold.
const storyWithin = 30 * time.Second

// storyStep is one step of the story: something happens, then exactly these
// backends, by their numbers, have to be judged up, and both names have to
// answer with those that are named for them.
type storyStep struct {
	what     string
	do       func() error
	up       []int
	www, app []int
	parked   []int // backends of which a copy has to stand paused under www
}

func (w *demoWorld) story() []storyStep {
	breakIt := func(i int, mode lab.Mode) func() error {
		return func() error { return w.backends[i].Break(mode) }
	}
	mend := func(list ...int) func() error {
		return func() error {
			var errs []error
			for _, i := range list {
				errs = append(errs, w.backends[i].Mend())
			}
			return errors.Join(errs...)
		}
	}
	nothing := func() error { return nil }
	return []storyStep{
		{"the daemon starts; all three servers are up", nothing, []int{0, 1, 2}, []int{0, 1, 2}, []int{0}, nil},
		{"b1 dies: it refuses connections", breakIt(0, lab.Refuse), []int{1, 2}, []int{1, 2}, []int{1}, []int{0}},
		{"b2 hangs: it takes connections and says nothing", breakIt(1, lab.Hang), []int{2}, []int{2}, []int{2}, []int{0, 1}},
		{"b3 answers 503: all are down, and the last answer stays", breakIt(2, lab.Status(503)), nil, []int{2}, []int{2}, []int{0, 1}},
		{"b2 is mended", mend(1), []int{1}, []int{1}, []int{1}, []int{0, 2}},
		{"b1 and b3 are mended; app goes back to b1 once it has held", mend(0, 2), []int{0, 1, 2}, []int{0, 1, 2}, []int{0}, nil},
	}
}

// playStory plays the steps and prints a line for each.
func (a *app) playStory(ctx context.Context, w *demoWorld) error {
	began := time.Now()
	empty := &emptyWatch{}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	watched := make(chan struct{})
	fmt.Fprintf(a.io.Out, "%8s  %-58s %-34s %-15s %s\n", "TIME", "WHAT HAPPENED", "WWW.DEMO.TEST", "APP.DEMO.TEST", "SEEN AFTER")
	failed := 0
	for n, step := range w.story() {
		at := time.Now()
		if err := step.do(); err != nil {
			return fmt.Errorf("demo: %s: %w", step.what, err)
		}
		err := w.holds(ctx, step)
		www, _ := w.ask(ctx, "www")
		app, _ := w.ask(ctx, "app")
		fmt.Fprintf(a.io.Out, "%8s  %-58s %-34s %-15s %s\n", clockText(at.Sub(began)), step.what,
			strings.Join(www, " "), strings.Join(app, " "), clockText(time.Since(at)))
		if ctx.Err() != nil {
			return errors.New("demo: interrupted before the story was over")
		}
		if err != nil {
			failed++
			fmt.Fprintf(a.io.Out, "%8s  DID NOT HOLD: %v\n", "", err)
		}
		if n == 0 {
			go func() { defer close(watched); empty.run(watching, w) }()
		}
	}
	stop()
	<-watched
	return a.endStory(empty, failed)
}

func (a *app) endStory(empty *emptyWatch, failed int) error {
	fmt.Fprintf(a.io.Out, "\nasked www.demo.test %d times meanwhile: %d times without an answer\n", empty.asked.Load(), empty.empty.Load())
	if n := empty.empty.Load(); n > 0 {
		return fmt.Errorf("demo: the name was without an answer %d times", n)
	}
	if failed > 0 {
		return fmt.Errorf("demo: %d steps did not hold", failed)
	}
	fmt.Fprintln(a.io.Out, "every step held")
	return nil
}

func clockText(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }

// holds waits until a step's answers are there, and its paused copies.
func (w *demoWorld) holds(ctx context.Context, step storyStep) error {
	ctx, cancel := context.WithTimeout(ctx, storyWithin)
	defer cancel()
	for {
		err := w.compare(ctx, step)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (w *demoWorld) compare(ctx context.Context, step storyStep) error {
	if err := w.compareVerdicts(ctx, step.up); err != nil {
		return err
	}
	for name, want := range map[string][]int{"www": step.www, "app": step.app} {
		got, err := w.ask(ctx, name)
		if err != nil {
			return err
		}
		if wanted := w.ips(want); !slices.Equal(got, wanted) {
			return fmt.Errorf("%s.demo.test answers with %v, expected %v", name, got, wanted)
		}
	}
	return w.compareParked(ctx, step.parked)
}

// compareVerdicts asks the daemon which backends it judges to be up.
func (w *demoWorld) compareVerdicts(ctx context.Context, up []int) error {
	client, err := control.Dial(ctx, w.socket)
	if err != nil {
		return err
	}
	status, err := client.Status(ctx, "")
	if err != nil {
		return err
	}
	var got []string
	for _, t := range status.Targets {
		if t.Verdict == "up" {
			got = append(got, t.Address)
		}
	}
	if want := w.ips(up); !slices.Equal(got, want) {
		return fmt.Errorf("the daemon judges %v to be up, expected %v", got, want)
	}
	return nil
}

// compareParked asks for the copies of what is paused: they are in the zone for
// everybody to read.
func (w *demoWorld) compareParked(ctx context.Context, want []int) error {
	answer, err := observe.Ask(ctx, w.dns, "_sidestep-paused.www.demo.test.", record.TXT)
	if err != nil {
		return err
	}
	for _, ip := range w.ips(want) {
		copied := func(text string) bool { return strings.Contains(text, "value="+ip+" ttl=30") }
		if !slices.ContainsFunc(answer.Values, copied) {
			return fmt.Errorf("no paused copy of %s with its TTL is in the zone: %q", ip, answer.Values)
		}
	}
	return nil
}

func (w *demoWorld) ips(list []int) []string {
	var ips []string
	for _, i := range list {
		ips = append(ips, w.ip(i))
	}
	slices.Sort(ips)
	return ips
}

func (w *demoWorld) ask(ctx context.Context, name string) ([]string, error) {
	answer, err := observe.Ask(ctx, w.dns, record.Name(name+".demo.test."), record.A)
	return answer.Values, err
}

// emptyWatch asks for the name all the time, and counts how often it was
// without an answer.
type emptyWatch struct{ asked, empty atomic.Int64 }

func (e *emptyWatch) run(ctx context.Context, w *demoWorld) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if values, err := w.ask(ctx, "www"); err == nil {
			e.asked.Add(1)
			if len(values) == 0 {
				e.empty.Add(1)
			}
		}
	}
}
