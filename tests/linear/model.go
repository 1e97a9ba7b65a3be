package main

import (
	"errors"
	"fmt"
	"sort"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"linear/content"
	"linear/memcache"
)

// Verb is what a client asked for.
type Verb int

const (
	get Verb = iota
	set
	cas
	update
	remove
	transition
)

func (verb Verb) String() string {
	return [...]string{"get", "set", "cas", "update", "delete", "transition"}[verb]
}

// Call is a request on one key.
type Call struct {
	Verb  Verb
	Tag   uint64 // of what set, cas and update write
	Size  int    // of set and cas
	First int    // cell, of update
	Cells int    // of update
	Token uint64 // of cas
}

// Answer is what came of it.
type Answer struct {
	Kind  memcache.Kind
	Value string // of a get that hit: the description
	Token uint64 // of a gets that hit
	Torn  string // where the bytes of a hit are of no write
	Text  string
}

// Event is a request with its answer, and when it was sent and answered.
type Event struct {
	Client int
	Call   Call
	Answer Answer
	Sent   time.Duration
	Ended  time.Duration
}

// What the register holds at a moment of a linearization. The order of CAS
// values is part of it: they only rise.
type state struct {
	value   string // "" is absent
	highest uint64 // CAS that any client has seen
}

// Tokens are the CAS values that clients were shown: one for each value.
type Tokens struct {
	valueOf map[uint64]string
	tokenOf map[string]uint64
}

// TokensOf collects them, and refuses a value with two, a token of two, and
// bytes that no client wrote.
func TokensOf(events []Event) (*Tokens, error) {
	tokens := &Tokens{map[uint64]string{}, map[string]uint64{}}
	for _, event := range events {
		value, token := event.Answer.Value, event.Answer.Token
		if event.Answer.Torn != "" {
			return nil, errors.New(event.Answer.Torn)
		}
		if token == 0 {
			continue
		}
		if known, seen := tokens.valueOf[token]; seen && known != value {
			return nil, fmt.Errorf("CAS %d is of %s and of %s", token, known, value)
		}
		if known, seen := tokens.tokenOf[value]; seen && known != token {
			return nil, fmt.Errorf("%s has CAS %d and %d", value, known, token)
		}
		tokens.valueOf[token], tokens.tokenOf[value] = value, token
	}
	return tokens, nil
}

var parsed sync.Map // descriptions, by their words

func parse(text string) content.Description {
	if known, seen := parsed.Load(text); seen {
		return known.(content.Description)
	}
	d, err := content.Parse(text)
	if err != nil {
		panic(err)
	}
	parsed.Store(text, d)
	return d
}

// Changes to a value: false where its CAS would not rise.
func (tokens *Tokens) becomes(now state, value string) (bool, state) {
	token := tokens.tokenOf[value]
	if token == 0 {
		return true, state{value, now.highest}
	}
	return token > now.highest, state{value, token}
}

// What the register may be after a call, if the answer is right in this state.
func (tokens *Tokens) step(now state, call Call, answer Answer) (bool, state) {
	absent := now.value == ""
	if answer.Kind == memcache.Absent {
		return absent, now
	}
	unknown := answer.Kind == memcache.Unknown
	switch call.Verb {
	case get:
		return !absent && now.value == answer.Value, now
	case set:
		return tokens.becomes(now, content.Whole(call.Tag, call.Size).String())
	case cas:
		matches := !absent && now.value == tokens.valueOf[call.Token]
		if answer.Kind == memcache.Exists {
			return !absent && !matches, now
		}
		if !matches {
			return unknown, now
		}
		return tokens.becomes(now, content.Whole(call.Tag, call.Size).String())
	case update:
		fits := !absent && call.First+call.Cells <= parse(now.value).Cells()
		if answer.Kind == memcache.Refused { // beyond the end
			return !absent && !fits, now
		}
		if !fits {
			return unknown, now
		}
		return tokens.becomes(now,
			parse(now.value).Patched(call.Tag, call.First, call.Cells).String())
	case remove:
		return unknown || !absent, state{"", now.highest}
	case transition:
		return unknown || !absent, now
	}
	panic("no such verb")
}

func (tokens *Tokens) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{} },
		Step: func(now, call, answer any) (bool, any) {
			return tokens.step(now.(state), call.(Call), answer.(Answer))
		},
		DescribeOperation: func(call, answer any) string {
			return fmt.Sprintf("%+v -> %+v", call, answer)
		},
	}
}

// Verdict of a check: Unknown where it took too long.
type Verdict struct {
	Result porcupine.CheckResult
	Why    string
}

// Check says whether the events on one key, which was absent before, are
// linearizable. It may take about twice the timeout.
//
// An event whose outcome is unknown may take effect at any time after it was
// sent, or never. One whose bytes a read saw has taken effect by then. The
// others are left out at first: if there is an order without them the history
// is linearizable; only if there is none they are tried as well.
func Check(events []Event, timeout time.Duration) Verdict {
	tokens, err := TokensOf(events)
	if err != nil {
		return Verdict{porcupine.Illegal, err.Error()}
	}
	operations, left := tokens.operations(events, false)
	result := porcupine.CheckOperationsTimeout(tokens.model(), operations, timeout)
	if result == porcupine.Illegal && left > 0 {
		operations, _ = tokens.operations(events, true)
		result = porcupine.CheckOperationsTimeout(tokens.model(), operations,
			timeout)
	}
	why := ""
	if result == porcupine.Illegal {
		why = "no order of these operations gives these answers"
	}
	return Verdict{result, why}
}

// The events as the checker takes them, and how many were left out: of those
// whose outcome is unknown those that no read saw, unless they are asked for.
func (tokens *Tokens) operations(events []Event, unseenToo bool) (
	operations []porcupine.Operation, left int) {
	seen := firstSeen(events)
	end := lastEnded(events)
	for _, event := range events {
		ended := event.Ended
		if event.Answer.Kind == memcache.Unknown {
			when, was := seen[event.Call.Tag]
			switch {
			case event.Call.Verb == get || event.Call.Verb == transition:
				continue // shows nothing, changes nothing
			case was && when > event.Sent:
				ended = when
			case unseenToo:
				ended = end + 1
			default:
				left++
				continue
			}
		}
		operations = append(operations, porcupine.Operation{
			ClientId: event.Client, Input: event.Call, Call: int64(event.Sent),
			Output: event.Answer, Return: int64(ended)})
	}
	return operations, left
}

func lastEnded(events []Event) time.Duration {
	end := time.Duration(0)
	for _, event := range events {
		if event.Ended > end {
			end = event.Ended
		}
	}
	return end
}

// Shortest cuts events that are not linearizable off where they first are not:
// what was not answered by then counts as unknown.
func Shortest(events []Event, timeout time.Duration) []Event {
	ends := []time.Duration{}
	for _, event := range events {
		ends = append(ends, event.Ended)
	}
	sort.Slice(ends, func(i, j int) bool { return ends[i] < ends[j] })
	cut := func(end time.Duration) []Event {
		left := []Event{}
		for _, event := range events {
			if event.Sent > end {
				continue
			}
			if event.Ended > end {
				event.Ended = end
				event.Answer = Answer{Kind: memcache.Unknown, Text: "cut"}
			}
			left = append(left, event)
		}
		return left
	}
	at := sort.Search(len(ends)-1, func(i int) bool {
		return Check(cut(ends[i]), timeout).Result != porcupine.Ok
	})
	return cut(ends[at])
}

// When the first answer was here that shows the bytes of a tag.
func firstSeen(events []Event) map[uint64]time.Duration {
	seen := map[uint64]time.Duration{}
	for _, event := range events {
		if event.Answer.Value == "" {
			continue
		}
		for _, tag := range parse(event.Answer.Value).Tags() {
			if when, was := seen[tag]; !was || event.Ended < when {
				seen[tag] = event.Ended
			}
		}
	}
	return seen
}
