// Package engine is the one owner of the controller's state. Everything that
// happens comes to it as an Event, and what has to be done about it leaves as
// Effects:
//
//	effects := e.Step(event)
//
// The caller's duties, in this order: append effects.Journal to the store, save the
// State when effects.Save says so, then hand effects.Hold and effects.Hasten to the
// schedule, effects.Look and effects.Work to the reconciler, and call Step with a Tick
// no later than effects.Next. What verdicts alone ask to save may wait a moment, as
// long as no Work comes with it or after it: a write must never be started before the
// transition that led to it was offered to the store. A store that fails is loud and
// stops no failover.
//
// Where the config has a canary, the caller probes it every few seconds, and at
// once when effects.Canary says so, and tells of each round by a Canary event. A
// target that failed often enough to be down waits for a round that passes and
// began after the last of those failures; a pass of its own ends the wait. A round
// with too few answers among the failures, be it one, takes those back that came
// since the round before, for the next may pass just as this node sees again. When
// two rounds in a row have too few answers this node is blind: every result
// since the last round that passed is taken back, but for a verdict that turned
// up, and until a round passes no result counts, no window is open, and Work
// that is out is withdrawn. Nothing is thought of the outage afterwards: probes
// that began in it count for nothing either, and counting goes on from where it
// was. A failed certificate that a wrong clock would explain counts as unknown
// while the clock is before the time of the build, or two addresses say so.
//
// Where several things happen at one moment, Note takes each of them and decides
// nothing, and the Step that follows decides once, knowing them all.
//
// Operators' overrides (pkg/override) go before the probes: a pin before what
// takes out, that before what puts in. They change what an answer counts as, and
// never what the probes see. They begin and end by the boot clock, are part of
// the State at any age, and have no effect while what they are about is not in
// the config, or is something else there. A freeze stops Work, and withdraws at
// once what is out. Foresee says what one would do, and changes nothing.
//
// The engine holds no clock, socket, log, lock or goroutine. Each event brings
// its boot time and its wall time, the first to count waits with, the second
// to be written down. Step is not safe for concurrent use; pkg/daemon calls it
// from one loop.
//
// Where a check has a cooldown, a target that went down is left alone for a while
// (Effects.Hold), then probed until it is up or fails once more, which begins a
// longer pause. A record set with no usable answer has none of this: its targets
// are probed at the interval. Pauses delay what is known and change none of it: a
// result that counts moves the verdict as it would without them. A failure whose
// cause disables leaves the target down and unasked until a person says otherwise
// (Approve) or the check is another.
//
// Where guard mass is on, what has failed often enough to be down, and what the
// canary has borne out, is held against everything else once a step's results are
// all in: when too many addresses fail together they stay as they are, suspected,
// and each goes down by itself when it has failed on. A pass clears it.
//
// Where a config names vantages for a target (Config.Vantages), several nodes judge
// it, each by its own results and thresholds, and what counts is their verdicts
// added up (health.Count) over the vantages that the config names: down, up, or
// unknown, which changes nothing. So observed and counted are two things, and both
// are shown (VantagesView): each vantage's word with its age, and what it comes to.
//
// This node tells the others what it says (Effects.Say, and Observed for all of
// it), and is told what they say (Observed, Gone). A vantage that was not heard for
// SilentAfter, or has left, counts as unknown: it is neither healthy nor gone, and
// the numbers that are needed stay what they are. Everything before the word of this
// node is this node's: thresholds, the canary, the clock, pauses and disabling
// causes. A node whose canary fails says that it is blind, and its word counts as
// unknown, at itself and everywhere; what the others say goes on to count there, but
// as without vantages a blind node writes nothing. A node's pause after its own
// verdict down is its own, and its word stays down meanwhile; a word is unknown when
// its results were for three intervals and a timeout. Everything behind the count
// goes by what counts: guard mass, outages and returns, holds, scenarios, answers,
// operators' words. Guard mass suspects a count that would go down together with too
// many, and believes it when the vantages have said so for as many more intervals as
// it asks failures for. A target that only others judge is not probed here. A
// restart takes up what counted, as it does a verdict, and no word of another
// vantage: until they are heard they are unknown.
//
// Beside the verdicts it counts what each target's results were, in a bounded
// way (see Tally), so that people can tell the target's faults from ours. No
// decision rests on these counts, and they end with the process.
//
// Sites and scenarios are a net of gates over the verdicts (pkg/scenario), of
// which a verdict that turns moves what rests on it and no more. An answer is
// usable when its targets are up, its scenario holds, its site is not in
// maintenance, and its site does not wait: after a long outage of any answer
// there, for a person's yes, or for a check to pass that proves current data.
// Outages and waits survive a restart.
//
// How a zone comes to be written: a result turns a verdict, the verdict makes
// an answer usable or unusable, pkg/steer decides the wanted set anew, and
// pkg/plan finds that the zone, as it was listed last, differs. That opens the
// zone's debounce window, which later changes do not prolong. At its end
// everything is worked out again, and if there is still something to change,
// Work for the zone leaves the engine. The reconciler lists, lets Work.Plan
// decide against the fresh list, and answers with Done; or with Wrote, for what
// it did before it failed or newer Work came. It goes on trying what it has, so
// when nothing of that is wanted any more, Work that writes nothing leaves the
// engine in its place.
package engine
