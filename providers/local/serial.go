package local

import "time"

// nextSerial is the serial after one, larger by the arithmetic of RFC 1982 and
// never 0, which some servers take for "none". One that reads as a date and a
// count (YYYYMMDDnn, RFC 1912 section 2.2) stays so: it is today's first when
// that is larger, else one more.
func nextSerial(serial uint32, now time.Time) uint32 {
	if today := dateSerial(now); isDate(serial) && after(today, serial) {
		return today
	}
	serial++
	if serial == 0 {
		serial = 1
	}
	return serial
}

// dateSerial is the first serial of a day, in UTC so that two hosts agree.
func dateSerial(now time.Time) uint32 {
	year, month, day := now.UTC().Date()
	if year > 4293 { // the last year whose serials fit
		return 0
	}
	return uint32(((year*100+int(month))*100 + day) * 100)
}

// isDate reports whether a serial reads as a day between 1980 and 2199.
func isDate(serial uint32) bool {
	day, month, year := int(serial/100%100), time.Month(serial/10000%100), int(serial/1000000)
	if year < 1980 || year > 2199 {
		return false
	}
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	return date.Month() == month && date.Day() == day
}

// after compares serials on the circle (RFC 1982 section 3.2).
func after(a, b uint32) bool { return int32(a-b) > 0 }
