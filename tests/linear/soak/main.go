// Soak loads a cluster with every kind of operation while servers and proxy
// are killed, frozen and restarted, jobs and policies work and settings change,
// and checks that no acknowledged value is lost or wrong and that the proxy
// does not grow.
package main

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"linear/cluster"
	"linear/memcache"
)

const (
	requestTimeout = time.Second
	// The cold values of so many are more than half a pack, whatever was deleted.
	enoughToPack = 4
)

const (
	badUsage = 2
	noStart  = 3
	beyondF  = 4
)

// A shape of a cluster: what depends on f. Every scheme has as much parity.
type shape struct {
	m       int
	servers int
	scheme  string
	copies  string
	plain   string
	targets []string // of transitions
}

var shapes = map[int]shape{
	1: {1, 6, "ers2:4,1,5", "rep:2", "rs:4,1",
		[]string{"wide", "narrow", "ers2:4,1,5", "srs:4,1,5", "ers1:2,1,3",
			"ers:2-4-5,1"}},
	2: {2, 7, "ers2:4,2,5", "rep:3", "rs:4,2",
		[]string{"wide", "narrow", "ers2:4,2,5", "srs:4,2,5", "ers1:2,2,3",
			"ers:2-4-5,2"}},
}

type soak struct {
	proxy   *cluster.Proxy
	shape   shape
	keys    int // long ones of each worker
	stop    atomic.Bool
	changes atomic.Int64 // that were acknowledged
	warm    cluster.Use  // of the proxy after its warm-up

	mutex   sync.Mutex
	problem error
}

// wrong ends the load; the first problem is reported.
func (soak *soak) wrong(err error) {
	soak.mutex.Lock()
	if soak.problem == nil {
		soak.problem = err
	}
	soak.mutex.Unlock()
	soak.stop.Store(true)
}

func (soak *soak) found() error {
	soak.mutex.Lock()
	defer soak.mutex.Unlock()
	return soak.problem
}

func main() {
	os.Exit(run())
}

// What one run is told.
type settings struct {
	top, program, ctl, relay string
	shape                    shape
	seed                     int64
	clients, keys            int
	goal                     goal
	stop                     <-chan struct{} // closed at a signal
}

func run() int {
	at := settings{}
	flag.StringVar(&at.top, "top", ".", "the source tree")
	flag.StringVar(&at.program, "ersproxy", "", "the program")
	flag.StringVar(&at.ctl, "ersctl", "", "the program")
	m := flag.Int("m", 1, "how many servers may be out at once: 1 or 2")
	flag.Int64Var(&at.goal.changes, "changes", 0,
		"that must be acknowledged, at least")
	flag.Float64Var(&at.goal.minutes, "minutes", 1,
		"how long servers are hurt, at least")
	flag.Int64Var(&at.seed, "seed", 1, "of clients and faults")
	flag.IntVar(&at.clients, "clients", 8, "at a time")
	flag.IntVar(&at.keys, "keys", 30, "of long values, for each client")
	flag.StringVar(&at.relay, "straggler", "",
		"tails-relay, for a server of which some replies are late")
	short := flag.Bool("short", false,
		"do not check memory, which takes minutes")
	tries := flag.Int("tries", 1, "where more than M servers were out")
	flag.Parse()
	var known bool
	at.shape, known = shapes[*m]
	at.goal.memory = !*short
	if flag.NArg() > 0 || at.program == "" || at.ctl == "" ||
		at.goal.minutes <= 0 || at.goal.changes < 0 || !known || *tries < 1 {
		flag.Usage()
		return badUsage
	}
	at.stop = cluster.StopOnSignal()
	for ; ; at.seed++ {
		code := once(at)
		*tries--
		if code != beyondF || *tries == 0 || at.stopped() {
			return code
		}
	}
}

func (at settings) stopped() bool {
	select {
	case <-at.stop:
		return true
	default:
		return false
	}
}

func once(at settings) int {
	folder, err := os.MkdirTemp("", "ers-soak-")
	if err != nil {
		return failed(err)
	}
	done := false
	defer func() { // behind Down, which finds there what to stop
		if done {
			os.RemoveAll(folder)
		}
	}()
	servers, err := cluster.StartServers(at.top, filepath.Join(folder, "servers"),
		at.shape.servers, "--memory", "1024")
	if err != nil {
		return failed(err)
	}
	defer servers.Down()
	var straggler *cluster.Straggler
	if at.relay != "" {
		straggler, err = servers.Straggle(at.relay, 1)
		if err != nil {
			return failed(err)
		}
		defer straggler.Stop()
	}
	log, err := cluster.NewLog(folder)
	if err != nil {
		return failed(err)
	}
	proxy, err := cluster.NewProxy(at.program, folder, log)
	if err != nil {
		return failed(err)
	}
	defer proxy.Kill()
	s := &soak{proxy: proxy, shape: at.shape, keys: at.keys}
	random := rand.New(rand.NewSource(at.seed))
	steer := &steer{proxy: proxy, random: random, servers: servers.Names,
		shape: at.shape, folder: folder, threads: 2}
	faults := &cluster.Faults{Servers: servers, Log: log,
		Proxies: []*cluster.Proxy{proxy}, MaxFailures: at.shape.m,
		RequestTimeout: requestTimeout, Random: random, Terminate: true,
		Freezes: 30, Damages: true, Between: steer.between, Straggler: straggler,
		Stop: at.stop}
	err = s.all(steer, faults, at.ctl, at.clients, at.goal)
	if beyond, _ := log.BeyondF(at.shape.m); beyond != nil {
		fmt.Printf("nothing is promised: out together were %v\n", beyond)
		fmt.Printf("kept in %s\n", folder)
		return beyondF
	}
	if err != nil {
		fmt.Printf("FAILED: %v\nkept in %s\n", err, folder)
		return 1
	}
	done = true
	return 0
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "soak:", err)
	return noStart
}

// When it is over, and whether the proxy's memory is checked.
type goal struct {
	minutes float64
	changes int64
	memory  bool
}

func (s *soak) all(steer *steer, faults *cluster.Faults, ctl string,
	clients int, goal goal) error {
	if err := s.proxy.Configure(steer.configuration()); err != nil {
		return err
	}
	if err := s.proxy.Start(); err != nil {
		return err
	}
	workers := make([]*worker, clients)
	var under sync.WaitGroup
	for i := range workers {
		workers[i] = newWorker(s, i+1, faults.Random.Int63())
		under.Add(1)
		go workers[i].run(&under)
	}
	hurtErr := s.hurt(faults, goal)
	s.stop.Store(true)
	if hurtErr != nil {
		s.proxy.Stop()
	}
	under.Wait()
	s.report(workers, steer, faults)
	if err := s.found(); err != nil {
		return err
	}
	if hurtErr != nil {
		return hurtErr
	}
	sum, err := steer.finish()
	fmt.Printf("jobs: %v\n", sum)
	if err != nil {
		return err
	}
	there, packed := 0, 0
	for _, worker := range workers {
		in, err := worker.packed()
		packed += in
		if err != nil {
			return err
		}
		count, err := worker.readBack()
		there += count
		if err != nil {
			return err
		}
	}
	fmt.Printf("read back: %d values, all right, of %d keys; %d of them in packs\n",
		there, clients*len(workers[0].all()), packed)
	if clients >= enoughToPack && packed == 0 {
		return fmt.Errorf("no value is packed")
	}
	ending := &cluster.Ending{Faults: faults, Ctl: ctl,
		Reconcile: func() error { return insist(workers, "touch", reconcile) },
		Delete:    func() error { return insist(workers, "delete", clear) }}
	remains, err := ending.Check()
	if err == nil {
		fmt.Printf("in the end: %v\n", remains)
	}
	return err
}

// Asks for something of every key that must succeed.
func insist(workers []*worker, what string,
	ask func(*worker, *object) memcache.Reply) error {
	for _, worker := range workers {
		for _, object := range worker.all() {
			if !worker.connect() {
				return fmt.Errorf("there is no proxy")
			}
			err := worker.conn.Insist(what+" "+object.key,
				func() memcache.Reply { return ask(worker, object) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// What was cut off half way would be left to the next change.
func reconcile(worker *worker, object *object) memcache.Reply {
	if !object.cut {
		return memcache.Reply{Kind: memcache.Done}
	}
	return worker.conn.Touch(object.key, 86400)
}

func clear(worker *worker, object *object) memcache.Reply {
	return worker.conn.Delete(object.key)
}

// Two thirds with all faults, then one third that leaves the proxy alone, in
// which it must not grow.
func (s *soak) hurt(faults *cluster.Faults, goal goal) error {
	began := time.Now()
	part := func(of float64) func() bool {
		whole := time.Duration(goal.minutes * float64(time.Minute))
		late := cluster.Until(began.Add(time.Duration(of * float64(whole))))
		return func() bool {
			return late() && float64(s.changes.Load()) >= of*float64(goal.changes)
		}
	}
	// The first third of the last part is warm-up.
	for i, over := range []func() bool{part(2. / 3), part(7. / 9), part(1)} {
		faults.KeepProxy = i > 0
		if err := s.hurtUntil(faults, over); err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		use, err := s.proxy.Use()
		if err != nil {
			return err
		}
		fmt.Printf("the proxy after %.0f s: %v\n", time.Since(began).Seconds(), use)
		if i == 1 {
			s.warm = use
		} else if goal.memory {
			return use.Above(s.warm)
		}
	}
	return nil
}

// Run ends early where a worker has found something wrong.
func (s *soak) hurtUntil(faults *cluster.Faults, over func() bool) error {
	between := faults.Between
	defer func() { faults.Between = between }()
	faults.Between = func() error {
		if s.stop.Load() {
			return fmt.Errorf("a client has stopped: %w", s.found())
		}
		return between()
	}
	return faults.Run(over, 1)
}

func (s *soak) report(workers []*worker, steer *steer, faults *cluster.Faults) {
	answers, errors := map[string]int{}, map[string]int{}
	total := 0
	for _, worker := range workers {
		for what, count := range worker.counts {
			answers[what] += count
			total += count
		}
		for what, count := range worker.errors {
			errors[what] += count
		}
	}
	fmt.Printf("%d changes were acknowledged\n", s.changes.Load())
	fmt.Printf("%d answers: %s\n", total, list(answers))
	fmt.Printf("faults: %s; %d reloads, %d jobs\n", faults.Summary(),
		steer.reloads, steer.started)
	if len(errors) > 0 {
		fmt.Printf("errors: %s\n", list(errors))
	}
}

func list(counts map[string]int) string {
	words := []string{}
	for what, count := range counts {
		words = append(words, fmt.Sprintf("%s %d", what, count))
	}
	sort.Strings(words)
	if len(words) > 60 {
		words = append(words[:60], "...")
	}
	return strings.Join(words, ", ")
}
