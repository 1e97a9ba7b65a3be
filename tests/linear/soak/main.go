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
)

const (
	serverCount    = 6
	mostOut        = 1 // M
	requestTimeout = time.Second
)

type soak struct {
	proxy *cluster.Proxy
	keys  int // long ones of each worker
	stop  atomic.Bool
	warm  cluster.Use // of the proxy after its warm-up

	mutex   sync.Mutex
	problem error
}

// wrong ends the load; the first problem is told.
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

func run() int {
	top := flag.String("top", ".", "the source tree")
	program := flag.String("ersproxy", "", "the program")
	minutes := flag.Float64("minutes", 1, "how long servers are hurt, at least")
	seed := flag.Int64("seed", 1, "of clients and faults")
	clients := flag.Int("clients", 8, "at a time")
	keys := flag.Int("keys", 30, "of long values, for each client")
	short := flag.Bool("short", false,
		"do not wait for what takes minutes to tell: memory and garbage")
	flag.Parse()
	if flag.NArg() > 0 || *program == "" || *minutes <= 0 {
		flag.Usage()
		return 2
	}
	folder, err := os.MkdirTemp("", "ers-soak-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		return 3
	}
	servers, err := cluster.StartServers(*top, filepath.Join(folder, "servers"),
		serverCount, "--memory", "1024")
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		return 3
	}
	defer servers.Down()
	proxy, err := cluster.NewProxy(*program, folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		return 3
	}
	defer proxy.Kill()
	s := &soak{proxy: proxy, keys: *keys}
	random := rand.New(rand.NewSource(*seed))
	steer := &steer{proxy: proxy, random: random, servers: servers.Names,
		folder: folder, threads: 2}
	faults := &cluster.Faults{Servers: servers, Proxy: proxy, M: mostOut,
		RequestTimeout: requestTimeout, Random: random, Terminate: true,
		Between: steer.between, Stop: cluster.StopOnSignal()}
	err = s.all(steer, faults, *clients, *minutes, !*short)
	log, _ := proxy.Log()
	if beyond := cluster.BeyondM(log, mostOut); beyond != nil {
		fmt.Printf("nothing is promised: out together were %v\n", beyond)
		fmt.Printf("kept in %s\n", folder)
		return 4
	}
	if err != nil {
		fmt.Printf("FAILED: %v\nkept in %s\n", err, folder)
		return 1
	}
	os.RemoveAll(folder)
	return 0
}

func (s *soak) all(steer *steer, faults *cluster.Faults, clients int,
	minutes float64, long bool) error {
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
	hurtErr := s.hurt(faults, minutes, long)
	s.stop.Store(true)
	if hurtErr != nil {
		s.proxy.Stop()
	}
	under.Wait()
	report(workers, steer, faults)
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
	there := 0
	for _, worker := range workers {
		count, err := worker.readBack()
		there += count
		if err != nil {
			return err
		}
	}
	fmt.Printf("read back: %d values, all right, of %d keys\n", there,
		clients*len(workers[0].all()))
	if !long {
		return nil
	}
	return s.garbage(workers, faults.Servers.Names)
}

// Two thirds with all faults, then one third that leaves the proxy alone, in
// which it must not grow.
func (s *soak) hurt(faults *cluster.Faults, minutes float64, long bool) error {
	began := time.Now()
	part := func(of float64) time.Time {
		return began.Add(time.Duration(minutes * of * float64(time.Minute)))
	}
	// The first third of the last part is warm-up.
	for i, until := range []time.Time{part(2. / 3), part(7. / 9), part(1)} {
		faults.KeepProxy = i > 0
		if err := s.hurtUntil(faults, until); err != nil {
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
		} else if long {
			return use.Above(s.warm)
		}
	}
	return nil
}

// Run ends early where a worker has found something wrong.
func (s *soak) hurtUntil(faults *cluster.Faults, until time.Time) error {
	between := faults.Between
	defer func() { faults.Between = between }()
	faults.Between = func() error {
		if s.stop.Load() {
			return fmt.Errorf("a client has stopped: %w", s.found())
		}
		return between()
	}
	return faults.Run(until, 1)
}

func report(workers []*worker, steer *steer, faults *cluster.Faults) {
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
