package cli

import (
	"fmt"
	"io"
	"regexp"
	"time"
)

// localTimes writes an answer for people with the times in it by the clock of
// this machine. What decides tells times in UTC, whichever machine it runs on;
// the rest of an answer goes by the local clock, and one answer has one zone and one
// form of time. A time in a reason is the same moment in other words.
type localTimes struct {
	out  io.Writer
	zone *time.Location
	now  func() time.Time
}

var utcTime = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// dayTime is a time of day, with its day when that is another than now. Both are in
// the zone of who reads.
func dayTime(at, now time.Time) string {
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format(time.TimeOnly)
	}
	return at.Format(time.DateTime)
}

func (l localTimes) Write(text []byte) (int, error) {
	local := utcTime.ReplaceAllFunc(text, func(word []byte) []byte {
		at, err := time.Parse(time.RFC3339, string(word))
		if err != nil {
			return word // only looks like a time
		}
		return []byte(dayTime(at.In(l.zone), l.now().In(l.zone)))
	})
	if _, err := l.out.Write(local); err != nil {
		return 0, fmt.Errorf("print the answer: %w", err)
	}
	return len(text), nil
}
