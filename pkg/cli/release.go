package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"sidestep/pkg/config"
	"sidestep/pkg/control"
	"sidestep/pkg/daemon"
)

// releaseFlags are those of release.
type releaseFlags struct {
	yes, dryRun, takeOver bool
}

func (a *app) releaseCommand() *cobra.Command {
	var f releaseFlags
	cmd := &cobra.Command{
		Use:   "release ZONE",
		Short: "Take sidestep out of a zone, every value live and nothing left",
		Long: `Take sidestep out of a zone, every value live and nothing left.

This is the way out. It lists the zone and shows what it would do; then it asks,
or does it at once with --yes. Every value that sidestep paused and the config
names comes back, whether or not it works just now. When
the zone shows them live, the marks, the parked copies and the stamp go. At the
end the zone is listed once more.

What it leaves as it is, and says so:

  a value that somebody else paused
  a value that the config does not name: whoever may write a text record could
  have put it there; name it in the config to bring it back
  a value that a CNAME was switched away from: its parked copy is the only
  memory of it, and answers nobody; delete it when you no longer need it
  a parked copy that cannot be read

It needs the zone in the config, with its provider's keys and its records. A
daemon would pause again what does not work, so stop it first: while one runs
here, nothing is released. --dry-run may be asked beside it. Where the lock is
in the zone (leader.lock: zone), stop it at the other nodes too: one that runs
takes the zone again at its next look, which is waited for, and told. Afterwards
take the zone out of the config, at every node.

Where the provider does not compare and swap, copies are removed only after the
time in which an older call may still take effect; it says how long it waits.
Interrupting it at any point is safe: to go on, run it again.

Exit codes: 0 released, or nothing to release, 1 not released or another
failure, 2 usage or config, 3 stopped by a guard, 4 a daemon runs here, the lock
is held or another node writes, 5 provider or network error, 6 frozen.`,
		Example: `  sidestep release example.com --dry-run
  sidestep release example.com
  sidestep release example.com --yes --json`,
		Args: arguments(1, 1, "ZONE"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return a.zoneNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.release(cmd.Context(), cmd, args[0], f)
		},
	}
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "ask nobody")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be done, and write nothing")
	cmd.Flags().BoolVar(&f.takeOver, "take-over", false, "release although another node's stamp in the zone is fresh")
	a.addJSON(cmd)
	return cmd
}

func (a *app) release(ctx context.Context, cmd *cobra.Command, zone string, f releaseFlags) error {
	ask := !f.yes && !f.dryRun
	if ask && (a.json || !a.screen.terminal || !isTerminal(a.io.In)) {
		return misused(cmd, "it asks before it writes, and there is no terminal to ask at: --yes, or --dry-run to look first")
	}
	cfg, err := a.loadZones()
	if err != nil {
		return err
	}
	if err := a.noDaemon(ctx, cfg, zone); err != nil && !f.dryRun {
		return err
	}
	var shown *daemon.Release
	if !f.yes {
		if shown, err = a.showRelease(ctx, cfg, zone, f); err != nil || shown == nil {
			return err
		}
	}
	if ask {
		if yes, err := a.confirm(fmt.Sprintf("release zone %s now?", shown.Zone)); err != nil || !yes {
			return errors.Join(err, errNotReleased)
		}
	}
	d, err := a.oneShot(cfg, true)
	if err != nil {
		return err
	}
	answer, err := d.ReleaseOnce(ctx, zone, shown, f.takeOver, a.progress)
	a.progressDone()
	if err != nil && answer.Zone == "" {
		return orInterrupted(ctx, err, releaseStopped)
	}
	a.exit = answer.Exit
	if a.json {
		return errors.Join(err, a.printJSON(answer))
	}
	a.printReleased(ctx, answer)
	return err
}

// errNotReleased is the end of a release that nobody said yes to.
var errNotReleased = errors.New("release: nothing was written")

const releaseStopped = "what was written stands, nothing is half done; to go on, run it again"

// showRelease prints what would be done; nil when there is nothing more to do.
func (a *app) showRelease(ctx context.Context, cfg *config.Config, zone string, f releaseFlags) (*daemon.Release, error) {
	d, err := a.oneShot(cfg, false)
	if err != nil {
		return nil, err
	}
	answer, err := d.ReleasePlan(ctx, zone, a.progress)
	a.progressDone()
	if err != nil {
		return nil, orInterrupted(ctx, err, "nothing was written")
	}
	a.exit = answer.Exit
	switch {
	case a.json:
		return nil, a.printJSON(answer)
	case answer.Error != "":
		return nil, &control.Error{Message: zoneWords(answer.Zone, answer.Error), Exit: answer.Exit}
	}
	a.printRelease(answer)
	if f.dryRun || answer.Idle() {
		return nil, nil
	}
	return &answer, nil
}

// printRelease says what a release would do.
func (a *app) printRelease(r daemon.Release) {
	out := a.io.Out
	if r.Idle() {
		fmt.Fprintf(out, "zone %s: nothing to release: sidestep paused nothing that it could bring back, and has neither mark, copy nor stamp there\n", r.Zone)
	} else {
		fmt.Fprintf(out, "zone %s: %s to resume, %s to remove\n", r.Zone, plural(len(r.Resume), "value", "values"), plural(len(r.Remove), "record", "records"))
	}
	for _, c := range r.Resume {
		fmt.Fprintf(out, "  + %s resume %s%s\n", setWords(c.Name, c.Type, c.Variant), c.Value, guardWords(c.Guard))
	}
	for _, line := range r.Remove {
		fmt.Fprintf(out, "  - remove %s\n", line)
	}
	if len(r.Resume) > 0 {
		fmt.Fprintln(out, "  a value comes back whether or not it works, and its mark or parked copy goes; what the probes see: sidestep check")
	}
	if r.Rival != "" {
		fmt.Fprintf(out, "  node %s leads this zone: stop sidestep there first; it would take the zone again at once, and pause again what does not work\n", r.Rival)
	}
	a.printLeftOut(r)
	a.printBlocked(r)
}

func (a *app) printLeftOut(r daemon.Release) {
	for _, l := range r.LeftOut {
		fmt.Fprintf(a.io.Out, "  left as it is: %s %s: %s\n", setWords(l.Name, l.Type, l.Variant), l.Value, l.Reason)
	}
	for _, line := range r.Unread {
		fmt.Fprintf(a.io.Out, "  left as it is: a parked copy that cannot be read: %s\n", line)
	}
}

func (a *app) printBlocked(r daemon.Release) {
	for _, b := range r.Blocked {
		fmt.Fprintf(a.io.Out, "  blocked by guard %s: %s\n", b.Guard, b.Detail)
	}
}

// printReleased says what a release did, and by the last list what is there now.
func (a *app) printReleased(ctx context.Context, r daemon.Release) {
	out := a.io.Out
	for _, c := range r.Applied {
		fmt.Fprintf(out, "resumed %s %s\n", setWords(c.Name, c.Type, c.Variant), c.Value)
	}
	for _, line := range r.Removed {
		fmt.Fprintf(out, "removed %s\n", line)
	}
	if !r.Released {
		for _, c := range r.Waiting() {
			fmt.Fprintf(out, "still paused %s %s\n", setWords(c.Name, c.Type, c.Variant), c.Value)
		}
		for _, line := range r.Remove {
			fmt.Fprintf(out, "  still there: %s\n", line)
		}
		a.printBlocked(r)
		text := r.Error
		if text == "" {
			text = "not released: " + cmp.Or(r.Detail, "not every value is back")
		}
		if ctx.Err() != nil {
			text = "interrupted: " + releaseStopped
		}
		a.complain(zoneWords(r.Zone, text))
		return
	}
	if r.Detail != "" && len(r.Applied) > 0 && !r.Verified {
		fmt.Fprintf(out, "not verified at the name servers: %s\n", r.Detail)
	}
	a.printLeftOut(r)
	proof := "every one live; no mark, copy or stamp of sidestep is left"
	if n := len(r.LeftOut) + len(r.Unread); n > 0 {
		proof = fmt.Sprintf("%d live; %s left as above; no mark, copy or stamp of sidestep beside that", r.Live, plural(n, "record is", "records are"))
	}
	fmt.Fprintf(out, "zone %s: released. Listed again: %s, %s, %s\n",
		r.Zone, plural(r.Sets, "record set", "record sets"), plural(r.Live+r.Paused, "value", "values"), proof)
	fmt.Fprintln(out, "to keep it so, take the zone out of the config, at every node, before you start sidestep again")
}

func setWords(name, kind, variant string) string {
	if variant == "" {
		return name + " " + kind
	}
	return name + " " + kind + " [" + variant + "]"
}

func guardWords(guard string) string {
	if guard == "" {
		return ""
	}
	return " [stopped by guard " + guard + "]"
}

// noDaemon refuses what a daemon on this machine would undo.
func (a *app) noDaemon(ctx context.Context, cfg *config.Config, zone string) error {
	_, err := control.Dial(ctx, cfg.Control.Socket)
	if errors.Is(err, control.ErrNoDaemon) {
		return nil
	}
	if err != nil {
		return err
	}
	return &control.Error{
		Message: fmt.Sprintf("release %s: a daemon runs on this machine with this config, and would pause again what does not work; nothing was written", zone),
		Hint:    "stop it first, such as: systemctl stop sidestep", Exit: control.ExitNotLeader,
	}
}

// confirm asks at the terminal; anything but yes is no.
func (a *app) confirm(question string) (bool, error) {
	fmt.Fprintf(a.io.Err, "%s [y/N] ", question)
	line, err := bufio.NewReader(a.io.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}
