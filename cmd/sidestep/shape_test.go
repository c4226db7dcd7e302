package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// A shape says what a JSON value has to be like. The stable fields of the
// answers are written down here by hand, apart from the code that makes them:
// fields may be added to an answer, and those that are here keep their names.
type shape any

type (
	object map[string]shape   // these fields at least
	list   struct{ of shape } // of at least one
	unused struct {           // nothing can be there in this version
		value any // null, an empty text or an empty list
		why   string
	}
	maybe   struct{ of shape } // or null
	empty   struct{ of shape } // or an empty text
	texts   struct{}           // a list of texts, which may be empty
	text    struct{}
	boolean struct{}
	number  struct{}
	name    struct{} // absolute, lower case, with the final dot
	moment  struct{} // RFC 3339
	numbers struct{} // a mapping to numbers
	word    []string // one of these
)

var (
	changeShape = object{
		"action": word{"create", "pause", "resume", "swap", "weight", "ttl"},
		"name":   name{}, "type": text{}, "variant": empty{text{}}, "value": text{}, "reason": text{},
	}
	blockedShape = object{"guard": text{}, "detail": text{}}
	zoneShape    = object{
		"zone": name{}, "in_sync": boolean{}, "checksum": text{},
		"changes": list{changeShape}, "blocked": list{blockedShape},
	}
)

var eventShape = object{
	"at": moment{}, "kind": word{"verdict", "plan", "guard", "override"}, "target": text{}, "from": empty{text{}}, "to": empty{text{}},
	"phase": empty{text{}}, "cause": empty{text{}}, "guard": empty{text{}}, "by": empty{text{}}, "detail": empty{text{}},
}

var overrideShape = object{
	"target": text{}, "kind": word{"drain", "force-up", "force-down", "pin", "freeze"}, "value": empty{text{}},
	"by": text{}, "reason": text{}, "from": moment{}, "until": maybe{text{}},
	"thing": text{}, "state": word{"in force", "to come", "no effect"}, "detail": empty{text{}},
}

// rtoSpan is how long something takes, in words such as 1m30s.
func rtoSpan(more object) object {
	fields := object{"best": text{}, "expected": text{}, "worst": text{}}
	maps.Copy(fields, more)
	return fields
}

var (
	rtoPartShape = rtoSpan(object{"why": text{}, "assumed": boolean{}})
	rtoWayShape  = object{
		"dominates": word{"probe", "fall", "rise", "propagation", "ttl"},
		"parts":     object{"probe": rtoPartShape, "debounce": rtoPartShape, "write": rtoPartShape, "propagation": rtoPartShape, "ttl": rtoPartShape, "negative_ttl": rtoPartShape},
	}
)

var (
	viewShape = object{
		"server": empty{name{}}, "address": text{}, "values": list{text{}}, "aliases": texts{}, "ttl_s": maybe{number{}}, "detail": empty{text{}}, "took_ms": number{},
		"outcome": word{"answer", "nxdomain", "nodata", "refused", "servfail", "not-authoritative", "no-recursion", "timeout", "unreachable", "failed"},
	}
	replyShape = object{
		"address": text{}, "port": number{}, "opened": moment{}, "requests": number{}, "protocol": word{"HTTP/1.1", "HTTP/2.0"}, "status": number{},
		"identity": empty{text{}}, "missing": empty{text{}}, "phase": empty{text{}}, "cause": empty{text{}}, "detail": empty{text{}}, "took_ms": number{},
		"ended": maybe{object{"at": moment{}, "address": text{}, "by": word{"server", "sidestep"}, "how": text{}}},
	}
)

// shapes are the answers of the commands with --json.
var shapes = map[string]shape{
	"plan": object{"zones": list{zoneShape}},
	"reconcile": object{"zones": list{object{
		"zone": name{}, "in_sync": boolean{}, "checksum": text{}, "changes": list{changeShape}, "blocked": texts{},
		"applied": list{changeShape}, "verified": boolean{},
	}}},
	"observe": object{ // of one sample, which has no events, and of which all was well
		"at": moment{}, "took_ms": number{}, "name": name{}, "type": text{}, "servers": list{viewShape}, "resolver": viewShape,
		"kept": replyShape, "new": list{replyShape}, "not_dialled": texts{}, "late": texts{}, "events": texts{}, "findings": texts{}, "gaps": texts{},
	},
	"drill": object{
		"name": name{}, "type": text{}, "zone": name{}, "policy": text{}, "target": text{}, "site": empty{text{}}, "value": text{},
		"before": list{text{}}, "during": list{text{}}, "also": texts{}, "ttl_ms": number{}, "for_ms": number{}, "every_ms": number{}, "reason": text{}, "until": moment{},
		"dry_run": boolean{}, "restored": boolean{}, "left": empty{text{}}, "still": empty{text{}}, "stopped": empty{text{}}, "next": empty{text{}}, "held": boolean{}, "not_tested": list{text{}},
		"ways": list{object{
			"way": word{"out", "back"}, "from": list{text{}}, "to": list{text{}}, "began": moment{}, "took_ms": number{},
			"samples": number{}, "requests": number{}, "failed": number{}, "failures": texts{}, "waits": empty{text{}}, "waited": texts{},
			"clocks": list{object{
				"clock": word{"written", "authoritative", "resolver", "new", "kept"}, "who": empty{text{}}, "moved": boolean{}, "never_left": boolean{}, "after_ms": maybe{number{}},
				"fell_back": number{}, "seen": text{}, "stayed_ms": maybe{number{}}, "retired_ms": maybe{number{}}, "ended": empty{text{}},
			}},
		}},
	},
	"drill --local": object{
		"name": name{}, "type": word{"A"}, "from": text{}, "to": text{}, "protocol": word{"HTTP/1.1", "HTTP/2.0"}, "tls": boolean{},
		"ttl_ms": number{}, "negative_ttl_ms": number{}, "attempts": number{}, "held": boolean{}, "not_tested": list{text{}},
		"rows": list{object{
			"row": number{}, "what": text{}, "reached": boolean{}, "held": boolean{}, "seen": text{}, "at_ms": number{},
			"event": word{"authority-new", "cache-old", "cache-new", "kept-old", "certificate-refused", "new-connection-new", "negative-cached", "negative-old", "recovered"},
		}},
	},
	"history verdict": object{
		"at": moment{}, "kind": word{"verdict"}, "target": text{}, "address": text{}, "from": text{}, "to": word{"up", "down", "suspected", "unknown"},
		"phase": empty{text{}}, "cause": empty{text{}},
	},
	"history write": object{
		"at": moment{}, "kind": word{"write"}, "zone": name{}, "name": name{}, "type": text{}, "variant": empty{text{}}, "value": text{}, "action": text{},
	},
	"simulate": object{
		"at": text{}, "name": name{}, "type": text{}, "variant": empty{text{}}, "live": list{text{}}, "paused": list{text{}},
		"weights": numbers{}, "reason": text{},
	},
	"rto": object{"records": list{rtoSpan(object{
		"name": name{}, "type": text{}, "variant": empty{text{}}, "dominates": rtoWayShape["dominates"], "parts": rtoWayShape["parts"],
		"back":        rtoSpan(object{"dominates": rtoWayShape["dominates"], "parts": rtoWayShape["parts"], "waits": texts{}}),
		"not_covered": list{text{}}, "gains": list{object{"setting": text{}, "from": text{}, "to": text{}, "expected": text{}, "worst": text{}, "price": text{}}},
	})}},
	"status": object{
		"node": text{},
		"leader": object{
			"state":  word{"leader", "standby", "none", "two-writers"},
			"holder": text{}, "until": maybe{moment{}},
		},
		"frozen": maybe{object{"by": text{}, "reason": text{}, "until": maybe{moment{}}}},
		"zones": list{object{
			"zone": name{}, "provider": text{}, "pause": word{"native", "rename", "parked"},
			"atomic": boolean{}, "fenced": boolean{}, "open_calls": number{}, "error": empty{text{}},
		}},
		"records": list{object{
			"name": name{}, "type": text{}, "variant": empty{text{}}, "policy": word{"all", "priority", "weighted"},
			"live": list{text{}}, "paused": list{text{}}, "wanted": list{text{}}, "held": unused{[]any{}, "the providers of this version mark all that they pause"}, "foreign": list{text{}},
			"weights": numbers{}, "reason": text{}, "hold_ends": maybe{moment{}},
			"answers": list{object{
				"value": text{}, "site": unused{"", "this version has no sites"}, "state": word{"live", "paused", "missing"},
				"verdict": word{"up", "down", "suspected", "unknown"}, "usable": boolean{}, "override": empty{word{"pin", "drain", "force-down", "force-up"}},
			}},
		}},
		"targets": list{object{
			"id": text{}, "check": text{}, "address": text{}, "verdict": word{"up", "down", "suspected", "unknown"},
			"phase": empty{text{}}, "cause": empty{text{}}, "since": moment{}, "passes": number{}, "fails": number{}, "unknowns": number{},
			"cooldown": object{"state": word{"eligible", "cooling", "probing", "disabled"}, "until": maybe{moment{}}, "attempts": number{}},
		}},
		"sites":     unused{[]any{}, "this version has no sites"},
		"overrides": texts{},
		"writes":    list{object{"at": moment{}, "zone": name{}, "name": name{}, "type": text{}, "value": text{}, "action": text{}, "error": empty{text{}}}},
		"config":    object{"file": text{}, "loaded": moment{}, "error": empty{text{}}},
	},
	"explain": object{
		"node": text{}, "at": moment{}, "daemon": boolean{}, "saved_at": maybe{moment{}},
		"leader":  object{"state": word{"leader", "standby", "none", "two-writers"}, "holder": text{}, "until": maybe{moment{}}},
		"notices": texts{},
		"records": list{object{
			"name": name{}, "type": text{}, "variant": empty{text{}}, "policy": word{"all", "priority", "weighted"},
			"live": list{text{}}, "paused": list{text{}}, "wanted": list{text{}}, "held": texts{}, "foreign": list{text{}},
			"weights": numbers{}, "reason": text{}, "blocked": texts{}, "pending": texts{}, "waiting": empty{text{}},
			"zone": name{}, "zone_error": empty{text{}},
			"judge_until": maybe{moment{}}, "window_ends": maybe{moment{}}, "hold_ends": maybe{moment{}},
			"verification": maybe{object{"at": moment{}, "verified": boolean{}, "detail": empty{text{}}}},
			"answers": list{object{
				"value": text{}, "site": unused{"", "this version has no sites"}, "state": word{"live", "paused", "missing", "unknown"},
				"verdict": word{"up", "down", "suspected", "unknown"}, "usable": boolean{}, "override": empty{word{"pin", "drain", "force-down", "force-up"}}, "reason": text{},
				"targets": list{object{
					"id": text{}, "check": text{}, "address": text{}, "verdict": word{"up", "down", "suspected", "unknown"}, "judged": word{"up", "down", "unknown"},
					"phase": empty{text{}}, "cause": empty{text{}}, "since": moment{}, "passes": number{}, "fails": number{}, "unknowns": number{},
					"fall": number{}, "rise": number{},
					"last": object{"at": moment{}, "result": word{"pass", "fail", "unknown"}, "latency_ms": number{}, "source": empty{text{}}},
					"results": object{
						"since": moment{}, "pass": number{}, "fail": number{}, "unknown": number{},
						"failures": list{object{"phase": text{}, "cause": text{}, "times": number{}}}, "faults": texts{},
					},
				}},
			}},
			"writes": list{object{
				"at": moment{}, "zone": name{}, "name": name{}, "type": text{}, "variant": empty{text{}}, "value": text{}, "action": text{},
				"replaces": empty{text{}}, "reason": text{}, "error": empty{text{}}, "evidence": list{eventShape},
			}},
		}},
		"overrides": texts{},
		"others":    object{"pass": number{}, "fail": number{}, "unknown": number{}},
		"journal":   object{"since": moment{}, "error": empty{text{}}},
	},
	"check": object{"results": list{object{
		"target": text{}, "check": text{}, "address": text{}, "source": empty{text{}}, "asserted": text{},
		"result": word{"pass", "fail", "unknown"}, "share": empty{word{"remote", "local"}}, "phase": empty{text{}}, "cause": empty{text{}}, "detail": empty{text{}},
		"latency_ms": number{},
	}}, "canary": maybe{object{"state": word{"pass", "fail"}, "answered": number{}, "need": number{}}}},
	"validate": object{
		"config": text{}, "valid": boolean{}, "errors": texts{}, "warnings": list{text{}},
		"zones": list{object{
			"zone": name{}, "provider": text{}, "pause": text{}, "atomic": boolean{}, "fenced": boolean{},
			"records": number{}, "words": text{}, "error": empty{text{}}, "inspected": texts{}, "configured": number{}, "found": number{}, "notes": texts{},
		}},
	},
	"validated": object{"zones": list{object{"zone": name{}, "notes": list{text{}}, "inspected": texts{}, "records": number{}, "found": number{}, "configured": number{}}}},
	"release": object{
		"zone": name{}, "released": boolean{}, "resume": list{changeShape}, "remove": texts{}, "blocked": texts{}, "unread": texts{},
		"left_out": list{object{"name": name{}, "type": text{}, "variant": empty{text{}}, "value": text{}, "reason": text{}}},
		"applied":  texts{}, "removed": texts{}, "verified": boolean{}, "sets": number{}, "live": number{}, "paused": number{}, "exit": number{},
	},
	"import": object{
		"zone": name{}, "provider": text{}, "records": number{}, "config": text{}, "unread": texts{}, "error": empty{text{}},
		"sets":     list{object{"name": name{}, "type": text{}, "variant": empty{text{}}, "answers": list{object{"value": text{}, "weight": number{}, "state": word{"live", "paused", "held"}}}}},
		"left_out": list{object{"name": name{}, "type": text{}, "variant": empty{text{}}, "why": text{}, "answers": list{object{"value": text{}, "state": word{"live", "paused", "held"}}}}},
	},
	"approve": object{"approved": text{}, "idle": empty{text{}}, "leader": empty{text{}}, "noted": empty{text{}}, "here": empty{text{}}, "exit": number{}},
	"reload":  object{"file": text{}, "loaded": moment{}, "changed": text{}},
	"override": object{
		"override": overrideShape, "replaced": list{overrideShape}, "dry_run": boolean{}, "daemon": boolean{}, "idle": empty{text{}}, "leader": empty{text{}}, "exit": number{},
		"records": list{object{
			"name": name{}, "type": text{}, "variant": empty{text{}}, "known": boolean{}, "at": moment{}, "in": texts{}, "out": texts{}, "live": list{text{}},
			"stays": texts{}, "blocked": texts{}, "reason": text{},
		}},
	},
	"overrides": object{"overrides": list{overrideShape}, "daemon": boolean{}, "saved_at": maybe{moment{}}, "shared": boolean{}, "unshared": empty{text{}}},
	"overridden": object{
		"overrides": list{overrideShape},
		"records":   list{object{"answers": list{object{"value": text{}, "override": empty{word{"drain"}}}}}},
	},
	"version": object{"version": text{}, "go": text{}, "system": text{}},
}

// misfits lists where a value is not as its shape wants it. An element of a
// list has to fit, and every list needs one, in some element of the list above.
func misfits(at string, s shape, value any) []string {
	wrong := func(format string, args ...any) []string {
		return []string{at + ": " + fmt.Sprintf(format, args...)}
	}
	switch s := s.(type) {
	case object:
		return misfitFields(at, s, value)
	case list:
		return misfitElements(at, s, value)
	case unused:
		if !reflect.DeepEqual(value, s.value) {
			return wrong("%#v, expected %#v: %s", value, s.value, s.why)
		}
	case maybe:
		if value != nil {
			return misfits(at, s.of, value)
		}
	case empty:
		if value != "" {
			return misfits(at, s.of, value)
		}
	case texts:
		if elements, isList := value.([]any); !isList || len(elements) > 0 && elements[0] == nil {
			return wrong("%v is not a list", value)
		}
	case numbers:
		if _, isObject := value.(map[string]any); !isObject {
			return wrong("%v is not an object", value)
		}
	case boolean:
		if _, is := value.(bool); !is {
			return wrong("%v is not true or false", value)
		}
	case number:
		if _, is := value.(float64); !is {
			return wrong("%v is not a number", value)
		}
	default:
		if complaint := misfitText(s, value); complaint != "" {
			return wrong("%v %s", value, complaint)
		}
	}
	return nil
}

func misfitText(s shape, value any) string {
	t, is := value.(string)
	if !is || t == "" {
		return "is not a text, or an empty one"
	}
	switch s := s.(type) {
	case name:
		if t != strings.ToLower(t) || !strings.HasSuffix(t, ".") {
			return "is not absolute and lower case, with the final dot"
		}
	case moment:
		at, err := time.Parse(time.RFC3339, t)
		if err != nil || time.Since(at) > time.Hour || time.Until(at) > time.Hour {
			return fmt.Sprintf("is not the time of this test in RFC 3339: %v", err)
		}
	case word:
		if !slices.Contains(s, t) {
			return fmt.Sprintf("is none of %q", []string(s))
		}
	}
	return ""
}

func misfitFields(at string, s object, value any) (wrong []string) {
	fields, is := value.(map[string]any)
	if !is {
		return []string{fmt.Sprintf("%s: %v is not an object", at, value)}
	}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		got, there := fields[key]
		if !there {
			wrong = append(wrong, fmt.Sprintf("%s: no field %q", at, key))
			continue
		}
		wrong = append(wrong, misfits(at+"."+key, s[key], got)...)
	}
	return wrong
}

// misfitElements checks every element. A list inside that is empty in one
// element is made up for by another element in which it is not.
func misfitElements(at string, s list, value any) []string {
	elements, is := value.([]any)
	if !is {
		return []string{fmt.Sprintf("%s: %v is not a list", at, value)}
	}
	if len(elements) == 0 {
		return []string{at + ": " + nothingIn}
	}
	var wrong []string
	hollow := map[string]int{}
	for i, element := range elements {
		for _, w := range misfits(at+"[]", s.of, element) {
			if strings.HasSuffix(w, nothingIn) {
				hollow[w]++
				continue
			}
			wrong = append(wrong, fmt.Sprintf("element %d: %s", i, w))
		}
	}
	for w, times := range hollow {
		if times == len(elements) {
			wrong = append(wrong, w)
		}
	}
	return wrong
}

const nothingIn = "an empty list proves nothing"
