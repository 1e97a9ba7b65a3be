package main

import (
	"fmt"
	"math/rand"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"linear/cluster"
	"linear/content"
	"linear/memcache"
)

// Setup is one shape of a cluster.
type Setup struct {
	Servers   int
	M         int
	Scheme    string   // of most keys
	Long      string   // of keys whose values have several groups
	Targets   []string // of transitions
	LongBytes int      // at most, of those values
}

// Values of 2 MiB and more in rs:2, and of 1 MiB in rep, have several groups,
// as no item is over 1 MiB.
var setups = []Setup{
	{6, 1, "ers2:4,1,5", "rs:2,1",
		[]string{"narrow", "wide", "wide", "rep:2", "rs:4,1", "ers2:4,1,5",
			"ers2:2,1,3"}, 5 << 20},
	{4, 1, "ers1:2,1,3", "rep:2",
		[]string{"narrow", "wide", "wide", "rep:2", "ers1:2,1,3", "srs:2,1,3"},
		3 << 20},
	{7, 2, "ers2:4,2,5", "rs:2,2",
		[]string{"narrow", "wide", "wide", "rep:3", "rs:4,2", "ers2:4,2,5"},
		5 << 20},
}

const (
	requestTimeout = 500 * time.Millisecond
	clientTimeout  = 10 * time.Second
	// Of these each is asked for about once between two faults.
	coldKeys  = 24
	coldOneOf = 150
)

// Options of one history.
type Options struct {
	Top     string // of the source tree
	Program string // ersproxy
	Ctl     string // ersctl
	Bug     string // planted in ersproxy, or empty
	Folder  string // empty
	Seed    int64
	Seconds float64
	Faults  int // at least
	Clients int
	Freezes int             // of 100 servers that are hurt; the others are killed
	Shape   int             // which of the setups; -1: by the seed
	Stop    <-chan struct{} // closed where it is to end
}

// History is what clients were told.
type History struct {
	Options Options
	Setup   Setup
	Threads int
	Keys    map[string][]Event
	Counts  map[string]int // of answers, by verb and kind
	Refused map[string]int // errors of servers that say that nothing changed
	Faults  string
	BeyondM []string
	// Silent are keys that could not be read in the end, when all was well.
	Silent []string
	// Remains of it on the servers, and what is wrong with them.
	Remains cluster.Remains
	Left    error
}

func configuration(setup Setup, servers []string, folder string, threads int) string {
	quoted := []string{}
	for _, server := range servers {
		quoted = append(quoted, fmt.Sprintf("%q", server))
	}
	return fmt.Sprintf(`listen: ["127.0.0.1:0"]
admin: "127.0.0.1:0"
servers: [%s]
max_parity: %d
scheme: %s
rules: [{prefix: "long", scheme: "%s"}]
state_file: %s
state_dir: %s
threads: %d
timeouts: {connect_ms: 250, request_ms: %d, operation_ms: 5000}
`, strings.Join(quoted, ", "), setup.M, setup.Scheme, setup.Long,
		filepath.Join(folder, "view"), filepath.Join(folder, "state"), threads,
		requestTimeout.Milliseconds())
}

// Record runs one history.
func Record(options Options) (*History, error) {
	random := rand.New(rand.NewSource(options.Seed))
	shape := random.Intn(len(setups))
	if options.Shape >= 0 {
		shape = options.Shape
	}
	setup := setups[shape]
	history := &History{Options: options, Setup: setup,
		Threads: 2 + random.Intn(3), Keys: map[string][]Event{},
		Counts: map[string]int{}, Refused: map[string]int{}}
	servers, err := cluster.StartServers(options.Top,
		filepath.Join(options.Folder, "servers"), setup.Servers,
		"--item-max", "1", "--memory", "512")
	if err != nil {
		return nil, err
	}
	defer servers.Down()
	env := []string{}
	if options.Bug != "" {
		env = append(env, "ERS_PLANTED_BUG="+options.Bug)
	}
	proxy, err := cluster.NewProxy(options.Program, options.Folder, env...)
	if err != nil {
		return nil, err
	}
	err = proxy.Configure(configuration(setup, servers.Names, options.Folder,
		history.Threads))
	if err != nil {
		return nil, err
	}
	if err := proxy.Start(); err != nil {
		return nil, err
	}
	defer proxy.Kill()
	load := newLoad(proxy, setup, random)
	if err := load.fillCold(random); err != nil {
		return nil, err
	}
	faults := &cluster.Faults{Servers: servers, Proxy: proxy, M: setup.M,
		RequestTimeout: requestTimeout, Random: random, Stop: options.Stop,
		Damages: true, Freezes: options.Freezes}
	var clients sync.WaitGroup
	for i := 0; i < options.Clients; i++ {
		clients.Add(1)
		go func(seed int64) {
			defer clients.Done()
			load.client(rand.New(rand.NewSource(seed)))
		}(random.Int63())
	}
	clients.Add(1)
	go func(seed int64) {
		defer clients.Done()
		load.collect(rand.New(rand.NewSource(seed)))
	}(random.Int63())
	struck := faults.Run(cluster.Until(time.Now().Add(
		time.Duration(options.Seconds*float64(time.Second)))), options.Faults)
	load.stop.Store(true)
	if struck != nil {
		proxy.Stop()
	}
	clients.Wait()
	if struck != nil {
		return nil, struck
	}
	history.Silent, err = load.readAll()
	if err != nil {
		return nil, err
	}
	if err := proxy.Ended(); err != nil {
		return nil, err
	}
	history.Faults = fmt.Sprintf("%s, %d collections", faults.Summary(),
		load.collections.Load())
	history.take(load)
	log, err := proxy.Log()
	if err != nil {
		return nil, err
	}
	history.BeyondM = cluster.BeyondM(log, setup.M)
	if options.Bug != "" || history.BeyondM != nil {
		return history, nil
	}
	ending := &cluster.Ending{Faults: faults, Ctl: options.Ctl,
		Settle: func() error { return history.settle(load) },
		Delete: load.deleteAll}
	history.Remains, history.Left = ending.Check()
	// Also where a server was taken for dead meanwhile.
	log, err = proxy.Log()
	history.BeyondM = cluster.BeyondM(log, setup.M)
	return history, err
}

// collect has garbage collected again and again, while clients make changes: all
// of it is too young. It fails while the proxy, or too much else, is down.
func (load *load) collect(random *rand.Rand) {
	for !load.stop.Load() {
		code, _, err := load.proxy.Ask("POST", "/v1/garbage", map[string]any{})
		if err == nil && code == 200 {
			load.collections.Add(1)
		}
		time.Sleep(time.Duration(random.Intn(200)) * time.Millisecond)
	}
}

func (history *History) take(load *load) {
	for key, events := range load.events {
		for _, event := range events {
			history.Counts[fmt.Sprintf("%v %v", event.Call.Verb,
				event.Answer.Kind)]++
			if event.Answer.Kind == memcache.Refused && !beyondEnd(event) {
				if strings.HasPrefix(event.Answer.Text, "SERVER_ERROR") {
					history.Refused[fmt.Sprintf("%v: %s", event.Call.Verb,
						event.Answer.Text)]++
				}
				continue
			}
			history.Keys[key] = append(history.Keys[key], event)
		}
	}
}

// An answer like any other: the value is shorter than that.
func beyondEnd(event Event) bool {
	return event.Call.Verb == update &&
		strings.Contains(event.Answer.Text, "reach beyond the value's end")
}

// Clients on a few keys.
type load struct {
	proxy   *cluster.Proxy
	setup   Setup
	began   time.Time
	keys    []string // that clients are busy on
	cold    []string // that they seldom touch, so that faults outlast changes
	stop    atomic.Bool
	tags    atomic.Uint64
	clients atomic.Int64
	// Collections of garbage that looked at all there is.
	collections atomic.Int64

	mutex  sync.Mutex
	events map[string][]Event
}

func newLoad(proxy *cluster.Proxy, setup Setup, random *rand.Rand) *load {
	load := &load{proxy: proxy, setup: setup, began: time.Now(),
		events: map[string][]Event{}, keys: []string{"long"}}
	for i := 0; i < 2+random.Intn(3); i++ {
		load.keys = append(load.keys, fmt.Sprintf("key%d", i))
	}
	for i := 0; i < coldKeys; i++ {
		load.cold = append(load.cold, fmt.Sprintf("cold%d", i))
	}
	return load
}

// Each client has one connection at a time, and a new name after each, since
// what it last asked may still be under way.
func (load *load) client(random *rand.Rand) {
	for !load.stop.Load() {
		address, _ := load.proxy.Address()
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
	event.Settled = time.Since(load.began)
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

// Gives the cold keys values.
func (load *load) fillCold(random *rand.Rand) error {
	address, _ := load.proxy.Address()
	conn, err := memcache.Dial(address, clientTimeout)
	if err != nil {
		return err
	}
	defer conn.Close()
	name := int(load.clients.Add(1))
	for _, key := range load.cold {
		load.send(conn, name, key, Call{Verb: set, Tag: load.tags.Add(1),
			Size: load.size(key, random)}, "")
	}
	return nil
}

// Reads every key, and tells those that gave no value and no miss.
func (load *load) readAll() ([]string, error) {
	address, _ := load.proxy.Address()
	conn, err := memcache.Dial(address, clientTimeout)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	name := int(load.clients.Add(1))
	silent := []string{}
	for _, key := range append(load.cold, load.keys...) {
		answer := load.send(conn, name, key, Call{Verb: get}, "").Answer
		if answer.Kind != memcache.Done && answer.Kind != memcache.Absent {
			silent = append(silent, key+" ("+answer.Text+")")
		}
	}
	return silent, nil
}

// Has what was cut off half way settled, which would be left to the next change.
func (history *History) settle(load *load) error {
	ask := func(conn *memcache.Conn, key string) memcache.Reply {
		for _, event := range history.Keys[key] {
			if event.Answer.Kind == memcache.Unknown {
				return conn.Touch(key, 0)
			}
		}
		return memcache.Reply{Kind: memcache.Done}
	}
	return load.insist("touch", ask)
}

func (load *load) deleteAll() error {
	return load.insist("delete", (*memcache.Conn).Delete)
}

// Asks for something of every key that must succeed.
func (load *load) insist(what string,
	ask func(*memcache.Conn, string) memcache.Reply) error {
	address, _ := load.proxy.Address()
	conn, err := memcache.Dial(address, clientTimeout)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, key := range append(load.cold, load.keys...) {
		err := conn.Insist(what+" "+key,
			func() memcache.Reply { return ask(conn, key) })
		if err != nil {
			return err
		}
	}
	return nil
}
