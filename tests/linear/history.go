package main

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"linear/cluster"
	"linear/memcache"
)

// Setup is one shape of a cluster.
type Setup struct {
	Servers     int
	MaxFailures int
	Scheme      string   // of most keys
	Long        string   // of keys whose values have several groups
	Targets     []string // of transitions; a width that an object lacks is refused
	LongBytes   int      // at most, of those values
}

// Values of 2 MiB and more in rs:2, and of 1 MiB in rep, have several groups,
// as no item is over 1 MiB.
var setups = []Setup{
	{6, 1, "ers2:4,1,5", "rs:2,1",
		[]string{"narrow", "wide", "wide", "rep:2", "rs:4,1", "ers2:4,1,5",
			"ers2:2,1,3", "ers:2-3-5,1", "3"}, 5 << 20},
	{4, 1, "ers1:2,1,3", "rep:2",
		[]string{"narrow", "wide", "wide", "rep:2", "ers1:2,1,3", "srs:2,1,3"},
		3 << 20},
	{7, 2, "ers2:4,2,5", "rs:2,2",
		[]string{"narrow", "wide", "wide", "rep:3", "rs:4,2", "ers2:4,2,5",
			"ers:2-3-5,2", "3"}, 5 << 20},
}

const (
	requestTimeout = 500 * time.Millisecond
	clientTimeout  = 10 * time.Second
	// Longer values are in blocks.
	columnBytes = 64 << 10
	// Of these each is asked for about once between two faults.
	coldKeys  = 24
	coldOneOf = 150
	// So many fill a pack, and are rewritten soon enough to fill another.
	smallKeys  = 200
	smallOneOf = 4
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
	Proxies int
	Freezes int             // of 100 servers that are hurt; the others are killed
	Relay   string          // tails-relay, before a straggler; or empty: there is none
	Shape   int             // which of the setups; -1: by the seed
	Stop    <-chan struct{} // closed where it is to end
}

// History is what clients were answered.
type History struct {
	Options Options
	Setup   Setup
	Threads int
	Keys    map[string][]Event
	Counts  map[string]int // of answers, by verb and kind
	Refused map[string]int // errors of servers that say that nothing changed
	Faults  string
	BeyondF []string
	// Silent are keys that could not be read in the end, when all was well.
	Silent []string
	// Remains of it on the servers, and what is wrong with them.
	Remains cluster.Remains
	Left    error
}

// Every other history has values in columns.
func columnBelow(seed int64) int {
	if seed%2 == 0 {
		return columnBytes
	}
	return 0
}

func configuration(setup Setup, columnBelow int, servers []string, folder string,
	threads int) string {
	quoted := []string{}
	for _, server := range servers {
		quoted = append(quoted, fmt.Sprintf("%q", server))
	}
	return fmt.Sprintf(`listen: ["127.0.0.1:0"]
admin: "127.0.0.1:0"
servers: [%s]
max_failures: %d
scheme: %s
column_below: %d
rules: [{prefix: "long", scheme: "%s"}]
state_file: %s
state_dir: %s
threads: %d
timeouts: {connect_ms: 250, request_ms: %d, operation_ms: 5000}
`, strings.Join(quoted, ", "), setup.MaxFailures, setup.Scheme, columnBelow, setup.Long,
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
	var straggler *cluster.Straggler
	if options.Relay != "" {
		straggler, err = servers.Straggle(options.Relay, 1+random.Intn(setup.Servers))
		if err != nil {
			return nil, err
		}
		defer straggler.Stop()
	}
	env := []string{}
	if options.Bug != "" {
		env = append(env, "ERS_PLANTED_BUG="+options.Bug)
	}
	log, err := cluster.NewLog(options.Folder)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	proxies := []*cluster.Proxy{}
	for len(proxies) < options.Proxies {
		proxy, err := history.startProxy(servers.Names, log, 1+len(proxies), env)
		if err != nil {
			return nil, err
		}
		defer proxy.Kill()
		proxies = append(proxies, proxy)
	}
	load := newLoad(proxies, setup, random)
	if err := load.fill(random); err != nil {
		return nil, err
	}
	faults := &cluster.Faults{Servers: servers, Log: log, Proxies: proxies,
		MaxFailures: setup.MaxFailures, RequestTimeout: requestTimeout, Random: random,
		Stop: options.Stop, Damages: true, Freezes: options.Freezes,
		Straggler: straggler}
	var clients sync.WaitGroup
	for i := 0; i < options.Clients; i++ {
		clients.Add(1)
		go func(number int, seed int64) {
			defer clients.Done()
			load.client(number, rand.New(rand.NewSource(seed)))
		}(i, random.Int63())
	}
	clients.Add(1)
	go func(seed int64) {
		defer clients.Done()
		load.collect(rand.New(rand.NewSource(seed)))
	}(random.Int63())
	clients.Add(1)
	go func(seed int64) {
		defer clients.Done()
		load.pack(rand.New(rand.NewSource(seed)))
	}(random.Int63())
	struck := faults.Run(cluster.Until(time.Now().Add(
		time.Duration(options.Seconds*float64(time.Second)))), options.Faults)
	load.stop.Store(true)
	if struck != nil {
		for _, proxy := range proxies {
			proxy.Stop()
		}
	}
	clients.Wait()
	if struck != nil {
		if errors.Is(struck, cluster.ErrNotInSync) {
			history.BeyondF, _ = log.BeyondF(setup.MaxFailures)
		}
		if history.BeyondF == nil {
			return nil, struck
		}
		history.Faults = faults.Summary()
		history.take(load)
		return history, nil
	}
	history.Silent, err = load.readAll()
	if err != nil {
		return nil, err
	}
	if err := faults.Ended(); err != nil {
		return nil, err
	}
	history.Faults = fmt.Sprintf("%s, %d collections, %d values packed",
		faults.Summary(), load.collections.Load(), load.packed.Load())
	history.take(load)
	history.BeyondF, err = log.BeyondF(setup.MaxFailures)
	if err != nil {
		return nil, err
	}
	if options.Bug != "" || history.BeyondF != nil {
		return history, nil
	}
	ending := &cluster.Ending{Faults: faults, Ctl: options.Ctl,
		Reconcile: func() error { return history.reconcile(load) },
		Delete:    load.deleteAll}
	history.Remains, history.Left = ending.Check()
	// Also where a server was taken for dead meanwhile.
	history.BeyondF, err = log.BeyondF(setup.MaxFailures)
	return history, err
}

// Starts one of the proxies, numbered from 1. All have the same log.
func (history *History) startProxy(servers []string, log *cluster.Log, number int,
	env []string) (*cluster.Proxy, error) {
	options := history.Options
	folder := filepath.Join(options.Folder, fmt.Sprintf("proxy%d", number))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	proxy, err := cluster.NewProxy(options.Program, folder, log, env...)
	if err != nil {
		return nil, err
	}
	err = proxy.Configure(configuration(history.Setup, columnBelow(options.Seed),
		servers, folder, history.Threads))
	if err != nil {
		return nil, err
	}
	return proxy, proxy.Start()
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

// Has what was cut off half way reconciled, which would be left to the next change.
func (history *History) reconcile(load *load) error {
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
