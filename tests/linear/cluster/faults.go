package cluster

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/signal"
	"sort"
	"strings"
	"syscall"
	"time"
)

const (
	// recoveryDeadline is how long all servers may take to be in sync again.
	recoveryDeadline = 120 * time.Second
	// beyondDeadline is how long those are waited for of which more than f are
	// out, and may be for ever.
	beyondDeadline = 20 * time.Second
)

// ErrNotInSync: servers were out for too long.
var ErrNotInSync = errors.New("the servers are not in sync")

// Faults hurts servers and proxies, one incident after the other: the next waits
// until every server is in sync again. For one goroutine.
type Faults struct {
	Servers *Servers
	Log     *Log
	// Proxies on the same servers, each hurt by itself.
	Proxies []*Proxy
	// MaxFailures is how many servers may be out at once.
	MaxFailures int
	// RequestTimeout is the proxies': a server frozen for longer leaves the view.
	RequestTimeout time.Duration
	Random         *rand.Rand
	// Terminate ends a proxy by SIGTERM at times, in place of kill -9.
	Terminate bool
	// KeepProxy leaves the proxies alone; Run may not be under way when it changes.
	KeepProxy bool
	// Damages: at times a server's blocks are damaged before it is killed.
	Damages bool
	// Straggler, if any, is a server of which some replies are late.
	Straggler *Straggler
	// Freezes is how many of 100 servers that are hurt are frozen, not killed.
	Freezes int
	// Between, if set, is called before each incident, by the same goroutine.
	Between func() error
	// Stop is closed where Run is to end as soon as it can.
	Stop <-chan struct{}
	// Counts has how often each kind struck.
	Counts map[string]int
}

func (faults *Faults) chance(percent int) bool {
	return faults.Random.Intn(100) < percent
}

// Between none and most milliseconds, more often few.
func (faults *Faults) upTo(most int) time.Duration {
	return time.Duration(float64(most)*faults.Random.Float64()*
		faults.Random.Float64()*1000) * time.Microsecond
}

func (faults *Faults) count(kind string) {
	if faults.Counts == nil {
		faults.Counts = map[string]int{}
	}
	faults.Counts[kind]++
}

// Until says when the time has come.
func Until(when time.Time) func() bool {
	return func() bool { return !time.Now().Before(when) }
}

// Run strikes until it is over, at least so often, and ends when all are in sync.
func (faults *Faults) Run(over func() bool, least int) error {
	for done := 0; ; done++ {
		if err := faults.waitUntilFull(); err != nil {
			return err
		}
		if done >= least && over() {
			return nil
		}
		time.Sleep(faults.upTo(400))
		if faults.Between != nil {
			if err := faults.Between(); err != nil {
				return err
			}
		}
		if err := faults.incident(); err != nil {
			return err
		}
	}
}

func (faults *Faults) incident() error {
	if err := faults.straggle(); err != nil {
		return err
	}
	if faults.chance(15) {
		return faults.restartProxy()
	}
	victims := faults.Random.Perm(len(faults.Servers.Names))
	hurt := []func() error{} // what heals them
	for i := 0; i < faults.MaxFailures && (i == 0 || faults.chance(60)); i++ {
		number := victims[i] + 1
		name := faults.Servers.Names[victims[i]]
		if !faults.chance(faults.Freezes) {
			faults.Log.Note("fault: %s loses its memory", name)
			if err := faults.lose(number); err != nil {
				return err
			}
			hurt = append(hurt, func() error { return faults.Servers.Start(number) })
		} else {
			faults.count("freeze")
			if err := faults.Servers.Freeze(number); err != nil {
				return err
			}
			hurt = append(hurt, func() error { return faults.Servers.Thaw(number) })
		}
		time.Sleep(faults.upTo(300))
	}
	if faults.chance(25) {
		if err := faults.restartProxy(); err != nil {
			return err
		}
	}
	// Shorter than the timeout, about as long, or much longer.
	time.Sleep(faults.upTo(3 * int(faults.RequestTimeout.Milliseconds())))
	for _, heal := range hurt {
		if err := heal(); err != nil {
			return err
		}
		time.Sleep(faults.upTo(200))
	}
	if faults.chance(25) {
		time.Sleep(faults.upTo(1000))
		if err := faults.restartProxy(); err != nil {
			return err
		}
	}
	return faults.waitUntilFull()
}

// Never so many that the server would be slow: it would leave, and another one
// may be out.
func (faults *Faults) straggle() error {
	if faults.Straggler == nil {
		return nil
	}
	if faults.chance(30) {
		return faults.Straggler.Late(0, 0)
	}
	faults.count("straggler")
	return faults.Straggler.Late(1+faults.Random.Intn(20), 1+faults.Random.Intn(100))
}

// Kills a server, at times some while after its blocks were damaged: clients
// may have met them.
func (faults *Faults) lose(number int) error {
	if faults.Damages && faults.chance(40) {
		if _, err := Damage(faults.Servers.Names[number-1]); err != nil {
			return err
		}
		faults.count("damage")
		time.Sleep(faults.upTo(500))
	}
	faults.count("kill")
	return faults.Servers.Kill(number)
}

func (faults *Faults) restartProxy() error {
	if faults.KeepProxy {
		return nil
	}
	proxy := faults.Proxies[0]
	if len(faults.Proxies) > 1 {
		proxy = faults.Proxies[faults.Random.Intn(len(faults.Proxies))]
	}
	if err := proxy.Ended(); err != nil {
		return err
	}
	if faults.Terminate && faults.chance(40) {
		faults.count("proxy terminated")
		if err := proxy.Terminate(); err != nil {
			return err
		}
	} else {
		faults.count("proxy killed")
		proxy.Kill()
	}
	time.Sleep(faults.upTo(200))
	return proxy.Start()
}

// Ended says why a proxy is no more, though no test ended it.
func (faults *Faults) Ended() error {
	for _, proxy := range faults.Proxies {
		if err := proxy.Ended(); err != nil {
			return err
		}
	}
	return nil
}

// Waits until all servers are in sync, with the memory that they have now. A
// moment later it must still be so: that a frozen server is missed may show only
// once it goes on.
func (faults *Faults) waitUntilFull() error {
	began, noted := time.Now(), false
	var steady time.Time
	for ; ; time.Sleep(50 * time.Millisecond) {
		select {
		case <-faults.Stop:
			return errors.New("interrupted")
		default:
		}
		if err := faults.Ended(); err != nil {
			return err
		}
		full, seen := allInSync(faults.Servers.Names, faults.Proxies)
		waited := time.Since(began)
		if !full && waited >= beyondDeadline && !noted {
			// A proxy that was killed may not have come to say so.
			noted = true
			for _, name := range seen.out() {
				faults.Log.Note("fault: %s is not in sync", name)
			}
		}
		beyond := []string{}
		if noted {
			beyond, _ = faults.Log.BeyondF(faults.MaxFailures)
		}
		if !full && (waited >= recoveryDeadline || len(beyond) > 0) {
			return fmt.Errorf("%w after %v: %v", ErrNotInSync, waited, seen)
		}
		if !full {
			steady = time.Time{}
			continue
		}
		if steady.IsZero() {
			steady = time.Now()
		}
		if time.Since(steady) >= faults.RequestTimeout {
			faults.Log.Note("fault: all are in sync")
			return nil
		}
	}
}

// Summary says how often each fault struck.
func (faults *Faults) Summary() string {
	kinds := []string{}
	for kind, count := range faults.Counts {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, count))
	}
	sort.Strings(kinds)
	return strings.Join(kinds, ", ")
}

// StopOnSignal is closed at the first SIGINT or SIGTERM; the second one ends
// the program at once.
func StopOnSignal() <-chan struct{} {
	signals, stop := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals)
		close(stop)
	}()
	return stop
}
