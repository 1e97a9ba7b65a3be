package main

import (
	"testing"
	"time"

	"linear/memcache"
)

func puts(value string) change {
	return func(held) (held, memcache.Kind) {
		return held{true, value}, memcache.Done
	}
}

func TestLostAndOldValuesAreSeen(t *testing.T) {
	object := newObject("k")
	if object.holds(held{true, "a"}) == nil {
		t.Error("a value from nowhere passes")
	}
	if err := object.changed(puts("a"), memcache.Done, 1); err != nil {
		t.Error(err)
	}
	if object.holds(held{}) == nil {
		t.Error("a lost value passes")
	}
	if err := object.changed(puts("b"), memcache.Done, 1); err != nil {
		t.Error(err)
	}
	if object.holds(held{true, "a"}) == nil {
		t.Error("an old value passes")
	}
	if err := object.holds(held{true, "b"}); err != nil {
		t.Error(err)
	}
}

func TestAnUnknownChangeComesOnceAtAnyTimeOrNever(t *testing.T) {
	object := newObject("k")
	object.changed(puts("a"), memcache.Done, 1)
	object.changed(puts("b"), memcache.Unknown, 1)
	for _, value := range []string{"a", "a", "b", "b"} {
		if err := object.holds(held{true, value}); err != nil {
			t.Error(err)
		}
	}
	if object.holds(held{true, "a"}) == nil {
		t.Error("it went away again")
	}
	// The process may still be at work on it.
	object.changed(puts("c"), memcache.Unknown, 1)
	object.changed(puts("d"), memcache.Done, 1)
	for _, value := range []string{"d", "c"} {
		if err := object.holds(held{true, value}); err != nil {
			t.Error(err)
		}
	}
}

func TestNothingComesOfAProcessThatIsGoneOnceAnotherHasChangedTheKey(t *testing.T) {
	object := newObject("k")
	object.changed(puts("a"), memcache.Unknown, 1)
	object.changed(puts("b"), memcache.Done, 2)
	if object.holds(held{true, "a"}) == nil {
		t.Error("it came after another's change")
	}
	object.changed(puts("c"), memcache.Unknown, 2)
	object.lates[0].sent = time.Now().Add(-stillAtWork)
	object.changed(puts("d"), memcache.Done, 2)
	if object.holds(held{true, "c"}) == nil {
		t.Error("it came long after its end")
	}
}

func TestWhatWroteNothingStandsBeforeNothing(t *testing.T) {
	keep := ifThere(memcache.Absent, same)
	object := newObject("k")
	object.changed(puts("a"), memcache.Done, 1)
	object.changed(puts("b"), memcache.Unknown, 1)
	if err := object.changed(keep, memcache.AlreadyThere, 2); err != nil {
		t.Error(err)
	}
	for _, value := range []string{"a", "b"} {
		if err := object.holds(held{true, value}); err != nil {
			t.Error(err)
		}
	}
	if newObject("k").changed(keep, memcache.AlreadyThere, 1) == nil {
		t.Error("an absent object is already what was asked for")
	}
}

func TestRefusedChangesNothing(t *testing.T) {
	object := newObject("k")
	object.changed(puts("a"), memcache.Done, 1)
	object.changed(puts("b"), memcache.Refused, 1)
	if object.holds(held{true, "b"}) == nil {
		t.Error("a refused value passes")
	}
}

func TestAWrongAnswerIsSeen(t *testing.T) {
	add := func(h held) (held, memcache.Kind) {
		if h.there {
			return h, memcache.NotStored
		}
		return held{true, "x"}, memcache.Done
	}
	object := newObject("k")
	if object.changed(add, memcache.NotStored, 1) == nil {
		t.Error("not stored, though nothing was there")
	}
	if err := object.changed(add, memcache.Done, 1); err != nil {
		t.Error(err)
	}
	if object.changed(add, memcache.Done, 1) == nil {
		t.Error("added twice")
	}
}
