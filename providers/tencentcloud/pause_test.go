package tencentcloud

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sidestep/pkg/provider"
	"sidestep/pkg/record"
	"sidestep/providers/tencentcloud/tencentcloudtest"
)

const (
	one = "192.0.2.1"
	two = "192.0.2.2"
)

var www = key("www", record.A)

// pair is a world with two live values, and the id of the first.
func pair(t *testing.T, o tencentcloudtest.Options) (*Adapter, *tencentcloudtest.Fake, uint64) {
	t.Helper()
	a, f := world(t, o)
	id := f.Insert(tencentcloudtest.Record{Name: "www", Type: "A", Value: one, TTL: 600, Remark: "web server 1"})
	f.Insert(tencentcloudtest.Record{Name: "www", Type: "A", Value: two, TTL: 600})
	return a, f, id
}

func pause(seen *provider.Snapshot, value string, survivors ...string) provider.Call {
	return provider.Call{Key: www, Seen: seen, Away: []record.Change{{Action: record.Pause, Key: www, Value: value}}, Survivors: survivors}
}

func resume(seen *provider.Snapshot, value string) provider.Call {
	return provider.Call{Key: www, Seen: seen, Add: []record.Change{{Action: record.Resume, Key: www, Value: value}}}
}

func (a *Adapter) mustAdd(t *testing.T, call provider.Call) {
	t.Helper()
	if err := a.Add(t.Context(), call); err != nil {
		t.Fatal(err)
	}
}

func (a *Adapter) mustTakeAway(t *testing.T, call provider.Call) {
	t.Helper()
	if err := a.TakeAway(t.Context(), call); err != nil {
		t.Fatal(err)
	}
}

func answerOf(t *testing.T, a *Adapter, value string) record.Answer {
	t.Helper()
	got, _ := list(t, a).Set(www).Find(value)
	return got
}

func byID(t *testing.T, f *tencentcloudtest.Fake, id uint64) tencentcloudtest.Record {
	t.Helper()
	for _, r := range f.Records() {
		if r.ID == id {
			return r
		}
	}
	t.Fatalf("record %d is gone", id)
	return tencentcloudtest.Record{}
}

// TestPauseAndResume: one mark and one flip each way, never ModifyRecord, the
// user's words kept, and every attribute as it was at the end.
func TestPauseAndResume(t *testing.T) {
	a, f, id := pair(t, tencentcloudtest.Options{})
	before, seen := f.Attributes(), list(t, a)
	f.Server.Forget()
	a.mustTakeAway(t, pause(seen, one, two))
	want := []string{"DescribeRecord", "ModifyRecordRemark", "DescribeRecord", "ModifyRecordStatus"}
	if got := f.Calls(); !slices.Equal(got, want) {
		t.Errorf("a pause makes the calls %v, want %v", got, want)
	}
	if r := byID(t, f, id); !r.Paused || !regexp.MustCompile(`^web server 1 \[sidestep \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\]$`).MatchString(r.Remark) {
		t.Errorf("the paused record is %v", r)
	}
	if got := answerOf(t, a, one); got.Live || !got.Paused || got.Held {
		t.Errorf("listed as %+v", got)
	}
	seen = list(t, a)
	f.Server.Forget()
	a.mustAdd(t, resume(seen, one))
	want = []string{"ModifyRecordStatus", "DescribeRecord", "ModifyRecordRemark"}
	if got := f.Calls(); !slices.Equal(got, want) {
		t.Errorf("a resume makes the calls %v, want %v", got, want)
	}
	if got := f.Attributes(); !slices.Equal(got, before) {
		t.Errorf("after a pause and a resume:\n%s\nbefore:\n%s", strings.Join(got, "\n"), strings.Join(before, "\n"))
	}
}

// TestAPersonsPauseIsHeld, and is resumed when a person approved it.
func TestAPersonsPauseIsHeld(t *testing.T) {
	a, f, id := pair(t, tencentcloudtest.Options{})
	f.Edit(id, func(r *tencentcloudtest.Record) { r.Paused = true })
	if got := answerOf(t, a, one); got.Live || got.Paused || !got.Held {
		t.Errorf("listed as %+v", got)
	}
	if err := a.TakeAway(t.Context(), pause(list(t, a), one, two)); provider.ClassOf(err) != provider.Conflict {
		t.Errorf("a pause of it: %v", err)
	}
	a.mustAdd(t, resume(list(t, a), one))
	if r := byID(t, f, id); r.Paused || r.Remark != "web server 1" {
		t.Errorf("after an approved resume: %v", r)
	}
}

// TestStaleMarkIsNoPauseOfOurs: the mark could not be taken off a live record.
// When a person pauses that record later, it is held all the same, and the next
// pause of ours renews the mark.
func TestStaleMarkIsNoPauseOfOurs(t *testing.T) {
	now := time.Now()
	clock := func() time.Time { return now }
	a, f, id := pair(t, tencentcloudtest.Options{Now: clock})
	a.now = clock
	a.mustTakeAway(t, pause(list(t, a), one, two))
	f.Server.Arm(tencentcloudtest.Action("ModifyRecordRemark"), 0, tencentcloudtest.Refusal("RequestLimitExceeded"))
	a.mustAdd(t, resume(list(t, a), one))
	if got := answerOf(t, a, one); !got.Live || !got.Paused {
		t.Fatalf("listed as %+v", got)
	}
	now = now.Add(markDead + time.Second)
	list(t, a)
	f.Edit(id, func(r *tencentcloudtest.Record) { r.Paused = true })
	for range 2 {
		if got := answerOf(t, a, one); got.Live || got.Paused || !got.Held {
			t.Fatalf("a person's pause of a record with an old mark is listed as %+v", got)
		}
	}
	f.Edit(id, func(r *tencentcloudtest.Record) { r.Paused = false })
	old := byID(t, f, id).Remark
	a.mustTakeAway(t, pause(list(t, a), one, two))
	if r := byID(t, f, id); !r.Paused || r.Remark == old {
		t.Errorf("after our pause: %v", r)
	}
	if got := answerOf(t, a, one); !got.Paused {
		t.Errorf("our pause with a new mark is listed as %+v", got)
	}
}

// TestFreshMarkIsEnough: a pause that was cut off after its mark goes on without
// another.
func TestFreshMarkIsEnough(t *testing.T) {
	a, f, id := pair(t, tencentcloudtest.Options{})
	f.Server.Arm(tencentcloudtest.Action("ModifyRecordStatus"), 0, tencentcloudtest.Refusal("RequestLimitExceeded"))
	if err := a.TakeAway(t.Context(), pause(list(t, a), one, two)); provider.ClassOf(err) != provider.Retryable {
		t.Fatalf("a throttled pause: %v", err)
	}
	f.Server.Forget()
	a.mustTakeAway(t, pause(list(t, a), one, two))
	if n := f.Count("ModifyRecordRemark"); n != 0 || !byID(t, f, id).Paused {
		t.Errorf("%d more marks; %v", n, byID(t, f, id))
	}
}

// TestOpenChangeOfARemark: the mark was to be taken off and no answer came. The record
// is paused again at once, and when that change comes late and takes the new mark off,
// the pause is still ours for the process that made it, until it is resumed. For a new
// one it is held.
func TestOpenChangeOfARemark(t *testing.T) {
	now := time.Now()
	clock := func() time.Time { return now }
	a, f, id := pair(t, tencentcloudtest.Options{Now: clock})
	a.now = clock
	pauseOpenly := func() {
		t.Helper()
		a.mustTakeAway(t, pause(list(t, a), one, two))
		f.Server.Arm(tencentcloudtest.Action("ModifyRecordRemark"), 0, tencentcloudtest.Refusal("FailedOperation.UnknowError"))
		a.mustAdd(t, resume(list(t, a), one))
		a.mustTakeAway(t, pause(list(t, a), one, two))
	}
	strip := func() { f.Edit(id, func(r *tencentcloudtest.Record) { r.Remark = "web server 1" }) }
	byHand := func(paused bool) { f.Edit(id, func(r *tencentcloudtest.Record) { r.Paused = paused }) }

	pauseOpenly()
	if got := answerOf(t, a, one); !got.Paused || got.Live || got.Held {
		t.Errorf("paused beside an open change, it is listed as %+v", got)
	}
	strip()
	for _, later := range []time.Duration{0, a.late + a.lag, time.Hour} {
		now = now.Add(later)
		if got := answerOf(t, a, one); !got.Paused || got.Held {
			t.Errorf("without its mark, after %v, it is listed as %+v", later, got)
		}
	}
	again := connect(t, settings(f))
	again.now = clock
	if got := answerOf(t, again, one); got.Paused || !got.Held {
		t.Errorf("to a new process it is listed as %+v", got)
	}
	a.mustAdd(t, resume(list(t, a), one))
	byHand(true)
	if got := answerOf(t, a, one); got.Paused || !got.Held {
		t.Errorf("a person's pause after it was resumed is listed as %+v", got)
	}
	byHand(false)

	pauseOpenly()
	now = now.Add(a.late + a.lag)
	list(t, a) // the mark is there, and stays
	strip()
	if got := answerOf(t, a, one); got.Paused || !got.Held {
		t.Errorf("a mark that a person took off is listed as %+v", got)
	}
	byHand(false)

	f.Edit(id, func(r *tencentcloudtest.Record) { r.Remark = "web server 1" })
	pauseOpenly()
	now = now.Add(a.late + a.lag)
	byHand(false)
	list(t, a)
	strip()
	byHand(true)
	if got := answerOf(t, a, one); got.Paused || !got.Held {
		t.Errorf("a person's pause long after the open change is listed as %+v", got)
	}
}

// TestRemarkEditedInTheGap: what the user wrote between the list and the pause is
// kept.
func TestRemarkEditedInTheGap(t *testing.T) {
	a, f, id := pair(t, tencentcloudtest.Options{})
	seen := list(t, a)
	f.Edit(id, func(r *tencentcloudtest.Record) { r.Remark, r.TTL = "moved to rack 4", 1200 })
	a.mustTakeAway(t, pause(seen, one, two))
	if r := byID(t, f, id); !strings.HasPrefix(r.Remark, "moved to rack 4 [sidestep ") || r.TTL != 1200 {
		t.Errorf("paused: %v", r)
	}
	a.mustAdd(t, resume(list(t, a), one))
	if r := byID(t, f, id); r.Remark != "moved to rack 4" || r.TTL != 1200 {
		t.Errorf("resumed: %v", r)
	}
}

// TestRemarkWithoutRoomForAMark: the list tells by how many characters a remark is too
// long, and one that is told to have room has it.
func TestRemarkWithoutRoomForAMark(t *testing.T) {
	a, f, id := pair(t, tencentcloudtest.Options{})
	remark := func(n int) { f.Edit(id, func(r *tencentcloudtest.Record) { r.Remark = strings.Repeat("字", n) }) }
	remark(200)
	want := fmt.Sprintf("the remark of its record %d leaves no room for the mark of a pause: shorten it by 32, to 168 characters", id)
	if got := answerOf(t, a, one); !strings.HasPrefix(got.Stuck, want) {
		t.Errorf("got %q, want %q", got.Stuck, want)
	}
	remark(169)
	if got := answerOf(t, a, one); !strings.Contains(got.Stuck, "shorten it by 1, to 168") {
		t.Errorf("one character too long: %q", got.Stuck)
	}
	failed(t, a.TakeAway(t.Context(), pause(list(t, a), one, two)), provider.Permanent, "RemarkLengthExceeded", "sidestep plan says which")
	remark(168)
	if got := answerOf(t, a, one); got.Stuck != "" {
		t.Errorf("a remark with room: %q", got.Stuck)
	}
	a.mustTakeAway(t, pause(list(t, a), one, two))
	if got := answerOf(t, a, one); got.Stuck != "" || !got.Paused {
		t.Errorf("listed as %+v", got)
	}
}

// TestPausedByAPersonInTheGap: a person pauses the record between the list and our
// pause. It stays that person's: no mark is put on it.
func TestPausedByAPersonInTheGap(t *testing.T) {
	a, f, id := pair(t, tencentcloudtest.Options{})
	seen := list(t, a)
	f.Edit(id, func(r *tencentcloudtest.Record) { r.Paused = true })
	failed(t, a.TakeAway(t.Context(), pause(seen, one, two)), provider.Conflict, "no longer live")
	if r := byID(t, f, id); r.Remark != "web server 1" {
		t.Errorf("the record is %v", r)
	}
	if got := answerOf(t, a, one); !got.Held {
		t.Errorf("listed as %+v", got)
	}
}

// TestHalfOfACall: of two creates the second is refused. What is to be known is
// that the call as a whole neither happened nor did not.
func TestHalfOfACall(t *testing.T) {
	a, f, _ := pair(t, tencentcloudtest.Options{})
	call := create(list(t, a), www, "192.0.2.3", 10*time.Minute)
	call.Add = append(call.Add, record.Change{Action: record.Create, Key: www, Value: "192.0.2.4", TTL: 10 * time.Minute})
	f.Server.Arm(tencentcloudtest.Writes, 1, tencentcloudtest.Refusal("FailedOperation.DomainIsLocked"))
	e := failed(t, a.Add(t.Context(), call), provider.Ambiguous, "part 2 of 2", "unlock it")
	if e.Code != "FailedOperation.DomainIsLocked" || len(f.Records()) != 5 {
		t.Errorf("code %q, %d records", e.Code, len(f.Records()))
	}
}

func TestMarks(t *testing.T) {
	at := time.Date(2026, 11, 30, 13, 5, 1, 0, time.UTC)
	mark := "[sidestep 2026-11-30T13:05:01Z]"
	for _, test := range []struct{ remark, words, mark string }{
		{"", "", ""},
		{"words", "words", ""},
		{mark, "", mark},
		{"words " + mark, "words", mark},
		{"words  " + mark, "words ", mark},
		{"words " + mark + " and more", "words and more", mark},
		{mark + " and " + mark, " and", mark},
		{"[sidestep] " + mark, "[sidestep]", mark},
		{"[sidestep-ok] web " + mark, "[sidestep-ok] web", mark},
		{"see [sidestep runbook] first", "see [sidestep runbook] first", ""},
		{"see [sidestep notes " + mark, "see [sidestep notes", mark},
		{"[sidestep 2026-11-30T1:05:01.5Z]", "[sidestep 2026-11-30T1:05:01.5Z]", ""},
		{"[sidestep 2026-11-31T13:05:01Z]", "[sidestep 2026-11-31T13:05:01Z]", ""},
		{"[sidestepped] by hand", "[sidestepped] by hand", ""},
		{"[sidestep without an end", "[sidestep without an end", ""},
		{"[sidestep]", "[sidestep]", ""},
	} {
		words, got := splitRemark(test.remark)
		if words != test.words || got != test.mark {
			t.Errorf("splitRemark(%q) = %q, %q, want %q, %q", test.remark, words, got, test.words, test.mark)
		}
	}
	if got := marked("words", at); got != "words "+mark {
		t.Errorf("marked: %q", got)
	}
	for _, test := range []struct {
		mark        string
		age         time.Duration
		fresh, dead bool
	}{
		{mark, 0, true, false},
		{mark, markFresh - time.Second, true, false},
		{mark, markFresh, false, false},
		{mark, markDead, false, false},
		{mark, markDead + time.Second, false, true},
		{mark, -markFresh - time.Second, false, false}, // of a node whose clock is ahead
	} {
		if f, d := fresh(test.mark, at.Add(test.age)), dead(test.mark, at.Add(test.age)); f != test.fresh || d != test.dead {
			t.Errorf("%s after %v: fresh %v, dead %v", test.mark, test.age, f, d)
		}
	}
}

// TestRemarksThatLookLikeMarks: a user's own words are no mark, whatever they
// begin with. They come back whole after a pause, which is ours in a process
// that was started anew; and a person's pause beside them is a person's.
func TestRemarksThatLookLikeMarks(t *testing.T) {
	for _, remark := range []string{
		"[sidestep-ok] web", "see [sidestep runbook] first", "see [sidestep notes", "web[sidestep]", "[sidestep]", "[sidestep ]", " lead  trail ", "[sidestep 等待]",
	} {
		a, f, id := pair(t, tencentcloudtest.Options{})
		f.Edit(id, func(r *tencentcloudtest.Record) { r.Remark = remark })
		a.mustTakeAway(t, pause(list(t, a), one, two))
		again := connect(t, settings(f))
		if got := answerOf(t, again, one); !got.Paused || got.Held {
			t.Errorf("remark %q: our own pause is listed as %+v", remark, got)
		}
		again.mustAdd(t, resume(list(t, again), one))
		if got := byID(t, f, id).Remark; got != remark {
			t.Errorf("remark %q became %q", remark, got)
		}
		f.Edit(id, func(r *tencentcloudtest.Record) { r.Paused = true })
		if got := answerOf(t, connect(t, settings(f)), one); got.Paused || !got.Held {
			t.Errorf("remark %q: a person's pause is listed as %+v", remark, got)
		}
	}
}
