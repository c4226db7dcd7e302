package zone

import (
	"fmt"
	"math"
	"time"
)

// drift is how much faster or slower than true time a node's clock may run: 1 %,
// a hundred times what NTP corrects.
const drift = 0.01

// Losses is how many heartbeats in a row a holder may lose without being taken
// over.
const Losses = 2

// longestCall bounds a heartbeat, its look and its write together.
const longestCall = 10 * time.Second

// Times are those of the lease of one zone. The zero value is no lease.
type Times struct {
	Heartbeat time.Duration // from one write of the holder to the next, at most
	Takeover  time.Duration // a stamp unchanged for so long may be taken over
	Poll      time.Duration // from one look of a standby to the next
	Lag       time.Duration // how long a list may show the past
	Call      time.Duration // the provider's deadline of one call
}

// Deadline is within which a heartbeat has to be through: that of a call, at most
// ten seconds, and never longer than until the next one is due.
func (t Times) Deadline() time.Duration {
	return min(t.Call, t.Heartbeat, longestCall)
}

// Least is the smallest Takeover, in whole seconds, by which a holder that loses
// heartbeats, Losses of them in a row, is not taken over. How often a standby
// looks is not in it, because it decides on a look just made.
func (t Times) Least() time.Duration {
	beats := (Losses+1)*t.Heartbeat + t.Deadline()
	return upToSecond((1 + drift) * (float64(beats)/(1-drift) + float64(t.Lag)))
}

// Room is how long a holder that has just renewed its stamp may be busy, with a call
// after it, before a standby can have waited long enough; 0 when it may not be.
func (t Times) Room() time.Duration {
	return max(0, time.Duration((float64(t.Takeover)/(1+drift)-float64(t.Lag))*(1-drift))-t.Deadline())
}

// Worst is how long after the holder died a standby has taken over, in whole
// seconds, when its looks succeed.
func (t Times) Worst() time.Duration {
	return upToSecond(float64(t.Lag) + float64(t.Takeover+2*t.Poll)/(1-drift))
}

// Belief is how long after its last accepted write was sent a holder may say that
// it leads: until then no standby can have waited long enough.
func (t Times) Belief() time.Duration {
	return time.Duration(float64(t.Takeover) * (1 - drift) / (1 + drift))
}

// Check says what is wrong with the times; its error names the key. Before a list
// must show the last heartbeat, the next has no ground: it might replace the stamp of
// a node that took over since.
func (t Times) Check() error {
	if t.Heartbeat <= t.Lag {
		good, also := t, ""
		good.Heartbeat = t.Lag.Truncate(time.Second) + time.Second
		if least := good.Least(); t.Takeover < least {
			also = fmt.Sprintf(", and leader.takeover: %s or more", seconds(least))
		}
		return fmt.Errorf("leader.heartbeat: %s is too short: lists lag by %s, and until they show the last heartbeat the next has no ground; use %s or more%s",
			seconds(t.Heartbeat), seconds(t.Lag), seconds(good.Heartbeat), also)
	}
	if least := t.Least(); t.Takeover < least {
		return fmt.Errorf("leader.takeover: %s is too short: a leader that loses %d heartbeats of %s in a row, with %s for a call and lists that lag by %s, would be taken over while it lives; use %s or more, or a shorter leader.heartbeat",
			seconds(t.Takeover), Losses, seconds(t.Heartbeat), seconds(t.Deadline()), seconds(t.Lag), seconds(least))
	}
	return nil
}

// Cost says what the lease costs in calls and in time.
func (t Times) Cost() string {
	beats, looks := aMinute(t.Heartbeat), aMinute(t.Poll)
	return fmt.Sprintf("the leader makes %s writes and as many reads of the stamp a minute, each standby %s reads; after a crash a standby takes over within %s",
		beats, looks, seconds(t.Worst()))
}

func aMinute(every time.Duration) string {
	return fmt.Sprintf("%.3g", float64(time.Minute)/float64(every))
}

func seconds(d time.Duration) string {
	return fmt.Sprintf("%gs", math.Round(d.Seconds()*1000)/1000)
}

func upToSecond(d float64) time.Duration {
	return time.Duration(math.Ceil(d/float64(time.Second))) * time.Second
}
