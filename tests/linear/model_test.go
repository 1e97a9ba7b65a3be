package main

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"linear/content"
	"linear/memcache"
)

const size = 100

func whole(tag uint64) string { return content.Whole(tag, size).String() }

// A history written by hand: one event after the other, each from one
// millisecond to another.
type story struct{ events []Event }

func (s *story) add(from, to int, call Call, answer Answer) *story {
	s.events = append(s.events, Event{Client: len(s.events), Call: call,
		Answer: answer, Sent: time.Duration(from) * time.Millisecond,
		Ended: time.Duration(to) * time.Millisecond})
	return s
}

func (s *story) set(from, to int, tag uint64, kind memcache.Kind) *story {
	return s.add(from, to, Call{Verb: set, Tag: tag, Size: size},
		Answer{Kind: kind})
}

func (s *story) hit(from, to int, value string, token uint64) *story {
	return s.add(from, to, Call{Verb: get},
		Answer{Kind: memcache.Done, Value: value, Token: token})
}

func (s *story) miss(from, to int) *story {
	return s.add(from, to, Call{Verb: get}, Answer{Kind: memcache.Absent})
}

func (s *story) cas(from, to int, token, tag uint64, kind memcache.Kind) *story {
	return s.add(from, to, Call{Verb: cas, Tag: tag, Size: size, Token: token},
		Answer{Kind: kind})
}

func (s *story) update(from, to int, tag uint64, first, cells int,
	kind memcache.Kind) *story {
	return s.add(from, to,
		Call{Verb: update, Tag: tag, First: first, Cells: cells},
		Answer{Kind: kind})
}

func (s *story) remove(from, to int, kind memcache.Kind) *story {
	return s.add(from, to, Call{Verb: remove}, Answer{Kind: kind})
}

func (s *story) transition(from, to int, kind memcache.Kind) *story {
	return s.add(from, to, Call{Verb: transition}, Answer{Kind: kind})
}

func begin() *story { return &story{} }

const (
	done    = memcache.Done
	absent  = memcache.Absent
	exists  = memcache.Exists
	unknown = memcache.Unknown
)

func patched(tag, by uint64) string {
	return content.Whole(tag, size).Patched(by, 1, 2).String()
}

func TestRightHistories(t *testing.T) {
	for name, s := range map[string]*story{
		"one after the other": begin().miss(0, 1).set(2, 3, 1, done).
			hit(4, 5, whole(1), 10).cas(6, 7, 10, 2, done).
			hit(8, 9, whole(2), 11).cas(10, 11, 10, 3, exists).
			remove(12, 13, done).cas(14, 15, 11, 3, absent).
			transition(16, 17, absent).remove(18, 19, absent),
		"at the same time, either first": begin().set(0, 9, 1, done).
			set(0, 9, 2, done).hit(3, 4, whole(2), 0).hit(5, 6, whole(1), 0),
		"a read of what is being written": begin().set(0, 9, 1, done).
			miss(1, 2).hit(3, 4, whole(1), 0),
		"a transition leaves value and CAS": begin().set(0, 1, 1, done).
			hit(2, 3, whole(1), 10).transition(4, 5, done).
			hit(6, 7, whole(1), 10),
		"an update": begin().set(0, 1, 1, done).update(2, 3, 2, 1, 2, done).
			hit(4, 5, patched(1, 2), 10).
			update(6, 7, 3, 5, 2, memcache.Refused),
		"unknown, and it was": begin().set(0, 1, 1, done).
			set(2, 3, 2, unknown).hit(4, 5, whole(2), 0),
		"unknown, and it was not": begin().set(0, 1, 1, done).
			set(2, 3, 2, unknown).hit(4, 5, whole(1), 0),
		"unknown, and it was much later": begin().set(0, 1, 1, done).
			set(2, 3, 2, unknown).hit(4, 5, whole(1), 0).
			set(6, 7, 3, done).hit(8, 9, whole(3), 0).hit(10, 11, whole(2), 0),
		"unknown, and only another's failure shows it": begin().
			set(0, 1, 1, done).hit(2, 3, whole(1), 10).set(4, 5, 2, unknown).
			cas(6, 7, 10, 3, exists).remove(8, 9, done),
		"a delete whose outcome is unknown": begin().set(0, 1, 1, done).
			remove(2, 3, unknown).miss(4, 5),
	} {
		if verdict := Check(s.events, time.Minute); verdict.Result != porcupine.Ok {
			t.Errorf("%s: %v %s", name, verdict.Result, verdict.Why)
		}
	}
}

func TestWrongHistories(t *testing.T) {
	for name, s := range map[string]*story{
		"an old value": begin().set(0, 1, 1, done).set(2, 3, 2, done).
			hit(4, 5, whole(1), 0),
		"a lost value": begin().set(0, 1, 1, done).miss(2, 3),
		"back in time": begin().set(0, 1, 1, done).set(2, 20, 2, done).
			hit(3, 4, whole(2), 0).hit(5, 6, whole(1), 0),
		"deleted and back": begin().set(0, 1, 1, done).remove(2, 3, done).
			hit(4, 5, whole(1), 0),
		"a value before it was sent": begin().hit(0, 1, whole(1), 0).
			set(2, 3, 1, unknown),
		"a value that no client sent": begin().set(0, 1, 1, done).
			hit(2, 3, whole(2), 0),
		"two cas of one token": begin().set(0, 1, 1, done).
			hit(2, 3, whole(1), 10).cas(4, 9, 10, 2, done).
			cas(4, 9, 10, 3, done),
		"a cas that should have been": begin().set(0, 1, 1, done).
			hit(2, 3, whole(1), 10).cas(4, 5, 10, 2, exists),
		"a CAS that falls": begin().set(0, 1, 1, done).hit(2, 3, whole(1), 10).
			set(4, 5, 2, done).hit(6, 7, whole(2), 9),
		"a CAS that a transition changes": begin().set(0, 1, 1, done).
			hit(2, 3, whole(1), 10).transition(4, 5, done).
			hit(6, 7, whole(1), 11),
		"one CAS for two values": begin().set(0, 1, 1, done).
			hit(2, 3, whole(1), 10).set(4, 5, 2, done).hit(6, 7, whole(2), 10),
		"a lost update": begin().set(0, 1, 1, done).
			update(2, 3, 2, 1, 2, done).hit(4, 5, whole(1), 0),
		"half an update": begin().set(0, 1, 1, done).
			update(2, 3, 2, 1, 2, done).
			hit(4, 5, content.Whole(1, size).Patched(2, 1, 1).String(), 0),
		"an update of what is not there": begin().update(0, 1, 1, 0, 1, done),
		"an update that reaches too far": begin().set(0, 1, 1, done).
			update(2, 3, 2, 5, 2, done),
		"unknown, twice": begin().set(0, 1, 1, done).set(2, 3, 2, unknown).
			hit(4, 5, whole(2), 0).set(6, 7, 3, done).hit(8, 9, whole(2), 0),
		"torn": begin().set(0, 1, 1, done).add(2, 3, Call{Verb: get},
			Answer{Kind: done, Torn: "bytes 0 to 16 are of no write"}),
		"a delete of nothing":     begin().remove(0, 1, done),
		"a transition of nothing": begin().transition(0, 1, done),
	} {
		verdict := Check(s.events, time.Minute)
		if verdict.Result != porcupine.Illegal {
			t.Errorf("%s: %v", name, verdict.Result)
			continue
		}
		shortest := Shortest(s.events, time.Minute)
		if Check(shortest, time.Minute).Result != porcupine.Illegal {
			t.Errorf("%s: it is right once it is cut", name)
		}
	}
}

func TestTheShortestEndsAtTheFirstWrongAnswer(t *testing.T) {
	s := begin().set(0, 1, 1, done).set(2, 3, 2, done).hit(4, 5, whole(1), 0).
		set(6, 9, 3, done).hit(10, 11, whole(3), 0)
	if got := len(Shortest(s.events, time.Minute)); got != 3 {
		t.Errorf("%d events in place of 3", got)
	}
}
