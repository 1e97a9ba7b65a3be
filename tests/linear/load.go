package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"linear/cluster"
	"linear/content"
	"linear/memcache"
)

// Clients on a few keys.
type load struct {
	proxies []*cluster.Proxy
	setup   Setup
	began   time.Time
	keys    []string // that clients are busy on
	cold    []string // that they seldom touch, so that faults outlast changes
	small   []string // that are packed again and again
	stop    atomic.Bool
	tags    atomic.Uint64
	clients atomic.Int64
	// Collections of garbage that checked all there is.
	collections atomic.Int64
	packed      atomic.Int64 // values

	mutex  sync.Mutex
	events map[string][]Event
}

func newLoad(proxies []*cluster.Proxy, setup Setup, random *rand.Rand) *load {
	load := &load{proxies: proxies, setup: setup, began: time.Now(),
		events: map[string][]Event{}, keys: []string{"long"}}
	for i := 0; i < 2+random.Intn(3); i++ {
		load.keys = append(load.keys, fmt.Sprintf("key%d", i))
	}
	for i := 0; i < coldKeys; i++ {
		load.cold = append(load.cold, fmt.Sprintf("cold%d", i))
	}
	for i := 0; i < smallKeys; i++ {
		load.small = append(load.small, fmt.Sprintf("small%d", i))
	}
	return load
}

func (load *load) all() []string {
	return append(append(append([]string{}, load.cold...), load.small...),
		load.keys...)
}

// Each client has one connection at a time, to one proxy after the other, and a
// new name after each, since what it last asked may still be under way.
func (load *load) client(number int, random *rand.Rand) {
	for ; !load.stop.Load(); number++ {
		address, _ := load.proxies[number%len(load.proxies)].Address()
		if address == "" {
			return
		}
		conn, err := memcache.Dial(address, clientTimeout)
		if err != nil {
			// It was killed a moment ago, and Address does not know yet.
			time.Sleep(time.Millisecond)
			continue
		}
		name := int(load.clients.Add(1))
		var known map[string]uint64 // CAS values, by key
		for !load.stop.Load() && !conn.Broken() {
			known = load.one(conn, name, known, random)
			time.Sleep(time.Duration(random.Intn(4000)) * time.Microsecond)
		}
		conn.Close()
	}
}

func (load *load) size(key string, random *rand.Rand) int {
	kind := random.Intn(100)
	switch {
	case strings.HasPrefix(key, "small"):
		return 800 + random.Intn(400)
	case key == "long" && kind < 25:
		return 1<<20 + random.Intn(load.setup.LongBytes-1<<20)
	case kind < 55:
		return 16 + random.Intn(4080) // mostly kept in the manifest
	case kind < 85:
		return 4096 + random.Intn(60_000)
	default:
		return 65536 + random.Intn(300_000)
	}
}

func (load *load) one(conn *memcache.Conn, name int, known map[string]uint64,
	random *rand.Rand) map[string]uint64 {
	key := load.keys[random.Intn(len(load.keys))]
	if key == "long" && random.Intn(2) == 0 {
		key = load.keys[1]
	}
	if random.Intn(coldOneOf) == 0 {
		key = load.cold[random.Intn(len(load.cold))]
	}
	small := random.Intn(smallOneOf) == 0
	if small {
		key = load.small[random.Intn(len(load.small))]
	}
	call := Call{}
	switch kind := random.Intn(100); {
	case kind < 40:
		call.Verb = get
	case kind < 58:
		call.Verb = set
	case kind < 73 && known[key] != 0:
		call.Verb, call.Token = cas, known[key]
	case kind < 83:
		call.Verb = update
		call.Cells = 1 + random.Intn(40)
		call.First = random.Intn(200)
		if random.Intn(3) == 0 {
			call.First *= 1 + random.Intn(100)
			call.Cells *= 1 + random.Intn(40)
		}
	case kind < 88:
		call.Verb = remove
	case small: // of several schemes they would not fill packs
		call.Verb = set
	default:
		call.Verb = transition
	}
	if call.Verb == set || call.Verb == cas || call.Verb == update {
		call.Tag = load.tags.Add(1)
		call.Size = load.size(key, random)
	}
	to := load.setup.Targets[random.Intn(len(load.setup.Targets))]
	event := load.send(conn, name, key, call, to)
	if event.Answer.Token != 0 {
		if known == nil {
			known = map[string]uint64{}
		}
		known[key] = event.Answer.Token
	}
	return known
}

func (load *load) send(conn *memcache.Conn, name int, key string, call Call,
	to string) Event {
	var value []byte
	switch call.Verb {
	case set, cas:
		value = content.Make(call.Tag, call.Size)
	case update:
		call.Size = 0
		value = content.MakePatch(call.Tag, call.First,
			call.Cells*content.CellBytes)
	}
	event := Event{Client: name, Call: call, Sent: time.Since(load.began)}
	var reply memcache.Reply
	switch call.Verb {
	case get:
		reply = conn.Get("gets", key)
	case set:
		reply = conn.Store("set", key, value, 0)
	case cas:
		reply = conn.Store("cas", key, value, call.Token)
	case update:
		reply = conn.Update(key, call.First*content.CellBytes, value)
	case remove:
		reply = conn.Delete(key)
	case transition:
		reply = conn.Transition(key, to)
	}
	event.Ended = time.Since(load.began)
	event.Answer = Answer{Kind: reply.Kind, Text: reply.Text}
	if call.Verb == get && reply.Kind == memcache.Done {
		event.Answer.Token = reply.Cas
		d, err := content.Describe(reply.Value)
		if err != nil {
			event.Answer.Torn = err.Error()
		} else {
			event.Answer.Value = d.String()
		}
	}
	if reply.Kind != memcache.NotSent {
		load.mutex.Lock()
		load.events[key] = append(load.events[key], event)
		load.mutex.Unlock()
	}
	return event
}

func dial(proxy *cluster.Proxy) (*memcache.Conn, error) {
	address, _ := proxy.Address()
	return memcache.Dial(address, clientTimeout)
}

// Gives the cold and the small keys values.
func (load *load) fill(random *rand.Rand) error {
	conn, err := dial(load.proxies[0])
	if err != nil {
		return err
	}
	defer conn.Close()
	name := int(load.clients.Add(1))
	for _, key := range append(append([]string{}, load.cold...), load.small...) {
		load.send(conn, name, key, Call{Verb: set, Tag: load.tags.Add(1),
			Size: load.size(key, random)}, "")
	}
	return nil
}

// Reads every key through every proxy, and returns those that gave no value and
// no miss.
func (load *load) readAll() ([]string, error) {
	silent := []string{}
	for _, proxy := range load.proxies {
		conn, err := dial(proxy)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		name := int(load.clients.Add(1))
		for _, key := range load.all() {
			answer := load.send(conn, name, key, Call{Verb: get}, "").Answer
			if answer.Kind != memcache.Done && answer.Kind != memcache.Absent {
				silent = append(silent, key+" ("+answer.Text+")")
			}
		}
	}
	return silent, nil
}

// collect has garbage collected again and again, while clients make changes: all
// of it is too young. It fails while that proxy, or too much else, is down.
func (load *load) collect(random *rand.Rand) {
	for !load.stop.Load() {
		proxy := load.proxies[random.Intn(len(load.proxies))]
		code, _, err := proxy.Ask("POST", "/v1/garbage", map[string]any{})
		if err == nil && code == 200 {
			load.collections.Add(1)
		}
		time.Sleep(time.Duration(random.Intn(200)) * time.Millisecond)
	}
}

// pack has small values packed again and again, one job after the other. It
// fails as collect does.
func (load *load) pack(random *rand.Rand) {
	proxy, id, counted := load.proxies[0], "", int64(0)
	for !load.stop.Load() {
		time.Sleep(time.Duration(random.Intn(100)) * time.Millisecond)
		var job job
		if id == "" {
			proxy = load.proxies[random.Intn(len(load.proxies))]
			_, answer, err := proxy.Ask("POST", "/v1/jobs", map[string]any{
				"to": "pack", "select": map[string]any{"prefix": "small"}})
			if err == nil && json.Unmarshal(answer, &job) == nil {
				id, counted = job.ID, 0
			}
			continue
		}
		code, answer, err := proxy.Ask("GET", "/v1/jobs/"+id, nil)
		if err != nil {
			continue
		}
		if code != 200 || json.Unmarshal(answer, &job) != nil {
			id = "" // it ended before it was written down
			continue
		}
		load.packed.Add(job.Objects["changed"] - counted)
		counted = job.Objects["changed"]
		if job.State != "listing" && job.State != "running" {
			id = ""
		}
	}
}

type job struct {
	ID, State string
	Objects   map[string]int64
}

func (load *load) deleteAll() error {
	return load.insist("delete", (*memcache.Conn).Delete)
}

// Asks for something of every key that must succeed.
func (load *load) insist(what string,
	ask func(*memcache.Conn, string) memcache.Reply) error {
	conn, err := dial(load.proxies[0])
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, key := range load.all() {
		err := conn.Insist(what+" "+key,
			func() memcache.Reply { return ask(conn, key) })
		if err != nil {
			return err
		}
	}
	return nil
}
