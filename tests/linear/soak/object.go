package main

import (
	"fmt"
	"strings"
	"time"

	"linear/memcache"
)

// What a key holds: literal bytes of a short value, the description of a long
// one; there says whether it holds anything.
type held struct {
	there bool
	value string
}

// A change says what it makes of what was there, and what must be answered.
// Where the answer is not Done nothing changes.
type change func(held) (held, memcache.Kind)

// A change whose outcome is unknown: it may still come.
type late struct {
	effect change
	sent   time.Time
	proxy  int // which process was asked
}

// One thing that may be so: what is held, and which late changes are to come.
type world struct {
	held   held
	coming uint
}

// object is what one client knows of a key that no other writes.
type object struct {
	key     string
	worlds  map[world]bool
	lates   []late
	cut     bool     // the outcome of a change is unknown
	answers []string // the last answers, to find the cause
}

const maxAnswers = 12

// Note keeps what process number proxy answered.
func (object *object) note(proxy int, verb string, reply memcache.Reply) {
	object.answers = append(object.answers, fmt.Sprintf("%s process %d: %s %v %s cas %d",
		time.Now().UTC().Format("15:04:05.000"), proxy, verb, reply.Kind, reply.Text,
		reply.Cas))
	if len(object.answers) > maxAnswers {
		object.answers = object.answers[1:]
	}
}

func (object *object) tale() string {
	return "\n  " + strings.Join(object.answers, "\n  ")
}

func newObject(key string) *object {
	return &object{key: key, worlds: map[world]bool{{}: true}}
}

// All that may be so when something is asked now: any late change may have
// come.
func (object *object) candidates() map[world]bool {
	all := map[world]bool{}
	var add func(world)
	add = func(w world) {
		if all[w] {
			return
		}
		all[w] = true
		for i, late := range object.lates {
			if w.coming&(1<<i) == 0 {
				continue
			}
			if after, kind := late.effect(w.held); kind == memcache.Done {
				add(world{after, w.coming &^ (1 << i)})
			}
		}
	}
	for w := range object.worlds {
		add(w)
	}
	return all
}

// Sure is what is held, where there is but one possibility.
func (object *object) sure() (held, bool) {
	if len(object.worlds) != 1 || len(object.lates) > 0 {
		return held{}, false
	}
	for w := range object.worlds {
		return w.held, true
	}
	return held{}, false
}

// Tired says that too much is unknown to ask for more than a new value.
func (object *object) tired() bool { return len(object.lates) > 3 }

// Holds checks what a read has shown.
func (object *object) holds(shown held) error {
	left := map[world]bool{}
	for w := range object.candidates() {
		if w.held == shown {
			left[w] = true
		}
	}
	if len(left) == 0 {
		return fmt.Errorf("%s holds %s, and may hold only %s", object.key, shown,
			object.possible())
	}
	object.worlds = left
	return nil
}

// How long the process that was asked may still be at work.
const stillAtWork = 20 * time.Second

// Changed checks the answer to a change that process number proxy was asked.
// AlreadyThere: as Done, but it may be that nothing had to be written.
func (object *object) changed(effect change, kind memcache.Kind, proxy int) error {
	switch kind {
	case memcache.Refused, memcache.NotSent:
		return nil
	case memcache.Unknown:
		all := uint(1) << len(object.lates)
		worlds := map[world]bool{}
		for w := range object.worlds {
			worlds[world{w.held, w.coming | all}] = true
		}
		object.worlds = worlds
		object.lates = append(object.lates, late{effect, time.Now(), proxy})
		return nil
	}
	left := map[world]bool{}
	for w := range object.candidates() {
		after, wanted := effect(w.held)
		if wanted != kind &&
			!(wanted == memcache.Done && kind == memcache.AlreadyThere) {
			continue
		}
		left[world{after, w.coming}] = true
	}
	if len(left) == 0 {
		return fmt.Errorf("%s: the answer was %v, though it holds %s", object.key,
			kind, object.possible())
	}
	object.worlds = left
	if kind == memcache.Done {
		object.fence(proxy)
	}
	return nil
}

// A change that was made stands before all that an earlier process has left
// under way, for its tokens fit no more.
func (object *object) fence(proxy int) {
	for _, late := range object.lates {
		if late.proxy == proxy && time.Since(late.sent) < stillAtWork {
			return
		}
	}
	worlds := map[world]bool{}
	for w := range object.worlds {
		worlds[world{held: w.held}] = true
	}
	object.worlds, object.lates = worlds, nil
}

func (object *object) possible() string {
	text := ""
	for w := range object.candidates() {
		text += fmt.Sprintf(" [%s]", w.held)
	}
	return text
}

func (h held) String() string {
	if !h.there {
		return "nothing"
	}
	if len(h.value) > 300 {
		return fmt.Sprintf("%s... (%d)", h.value[:300], len(h.value))
	}
	return h.value
}
