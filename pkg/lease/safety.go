package lease

import (
	"fmt"
	"strings"
	"time"
)

// drift is how much faster or slower than another one, in percent, a clock may
// run: a node's against etcd's.
const drift = 1

// Trust is how long a holder believes in a lease, on its own clock, from before
// the renewal was sent that the lease's keeper confirmed: a little less than the
// keeper's time to live, because either clock may be off.
func Trust(ttl time.Duration) time.Duration { return ttl * (100 - drift) / (100 + drift) }

// Interval is the time between two renewals: several may fail before the lease runs
// out, and the gate stays open for long calls between two of them.
func Interval(ttl time.Duration) time.Duration { return min(ttl/6, 5*time.Second) }

// LongestCall is the longest deadline of a call for which the gate is open although
// one renewal failed.
func LongestCall(ttl time.Duration) time.Duration { return Trust(ttl) - 2*Interval(ttl) }

// Wait is how long the next leader waits before it first takes anything away, at
// a provider that cannot refuse a call of the leader before. Adding needs no
// wait: a late call can only add to it or is undone by the next look.
type Wait struct {
	TTL    time.Duration // of the lease
	Call   time.Duration // the deadline of one call, all of its retries in it
	Late   time.Duration // how long after it was given up the provider may still carry a call out
	Signed time.Duration // how long after it was signed the provider still takes a call; 0 for ever
}

// Least is the shortest wait that is safe, never below zero.
//
// A call goes out while it can end within the trust V. Where the provider lets
// no old signature pass, it can take effect until V less the deadline C, when it
// was signed at the latest, plus the life S of a signature; even a process that
// stood still between the gate and the send is harmless then. Elsewhere it is V
// plus the lateness X. Both as the next leader's clock may count it, which starts
// no earlier than TTL after that renewal.
func (w Wait) Least() time.Duration {
	end := Trust(w.TTL)
	if w.Signed > 0 {
		end -= w.Call
	}
	end = end*100/(100-drift) + w.bound()
	return max(0, end*(100+drift)/100-w.TTL)
}

func (w Wait) bound() time.Duration {
	if w.Signed > 0 {
		return w.Signed
	}
	return w.Late
}

// Words is the inequality with its numbers, for people who want to check it.
func (w Wait) Words() string {
	trust, ttl, least := Trust(w.TTL).Round(time.Second/10), Short(w.TTL), Short(Seconds(w.Least()))
	if w.Signed > 0 {
		return fmt.Sprintf("1.01 × ((%s trusted − %s of a call) / 0.99 + %s that a signature lives) − %s of lease = %s",
			trust, Short(w.Call), Short(w.Signed), ttl, least)
	}
	return fmt.Sprintf("1.01 × (%s trusted / 0.99 + %s that a call may be late) − %s of lease = %s", trust, Short(w.Late), ttl, least)
}

// Short writes a duration without the units that are zero at its end.
func Short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Belief is how long a leader may go on believing in a lease that this store does not
// know of, since another one counted it, or the same one before it was built anew from
// nothing: less than a TTL after its last word, which was before the first of who leads
// by this one; once more that for a store whose TTL is another.
func Belief(ttl time.Duration) time.Duration { return 2 * ttl }

// Seconds rounds up to whole seconds.
func Seconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}
