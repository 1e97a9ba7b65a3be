package main

import (
	"fmt"
	"strings"
	"time"
)

// How the histories are made that show a bug best.
type directions struct {
	histories int // at most
	seconds   float64
	faults    int
	clients   int
	freezes   int
	shape     int // of setups; -1: any
}

// What rivals on one key, or clients beside any fault, come across.
var rivals = directions{histories: 6, seconds: 4, faults: 2, clients: 12,
	freezes: 30, shape: -1}

// What shows only once the next servers die: many deaths, one soon after the
// other, of few servers with f=1, so that they meet the replicas and blocks of the
// same keys.
var deaths = directions{histories: 6, seconds: 4, faults: 6, clients: 12,
	shape: 1}

// What shows to a reader of a block in the half second between its damage and
// the death of its server: one damage in three or four is met.
var damages = directions{histories: 12, seconds: 4, faults: 6, clients: 12,
	shape: -1}

// The planted bugs that clients of one ersproxy must see, as they break what
// those are answered while no more than f servers are out.
// docs/internals/testing.md says why the others cannot show here.
var visible = []struct {
	bug string
	directions
}{
	{"commit-by-set", rivals},
	{"ack-before-primary", rivals},
	{"drop-before-flip", rivals},
	{"generation-twice", rivals},
	{"skip-checksum", damages},
	{"gc-drops-young", rivals},
	{"in-sync-at-once", deaths},
	{"backfill-manifests-only", deaths},
}

func (runs *runs) catch(name string) int {
	names := []string{name}
	if name == "all" {
		names = names[:0]
		for _, each := range visible {
			names = append(names, each.bug)
		}
	}
	missed := []string{}
	for _, each := range names {
		caught, err := runs.catchOne(each)
		if err != nil {
			fmt.Printf("%s: %v\n", each, err)
		}
		if !caught {
			missed = append(missed, each)
		}
	}
	if len(missed) > 0 {
		fmt.Printf("not caught: %s\n", strings.Join(missed, ", "))
		return 1
	}
	return 0
}

// catchOne records histories until one shows the bug.
func (runs *runs) catchOne(name string) (bool, error) {
	began := time.Now()
	bug := *runs
	bug.options.Bug, bug.total = name, sum{}
	bug.direct(name)
	for i := 1; i <= bug.histories; i++ {
		wrong, err := bug.next()
		if err != nil {
			return false, err
		}
		if wrong {
			fmt.Printf("%s: caught by history %d, after %.0f s\n", name, i,
				time.Since(began).Seconds())
			return true, nil
		}
	}
	fmt.Printf("%s: NOT CAUGHT by %d histories in %.0f s\n", name,
		bug.histories, time.Since(began).Seconds())
	return false, nil
}

// Takes the directions for a bug, where nothing else was asked for.
func (runs *runs) direct(name string) {
	direct := rivals
	for _, each := range visible {
		if each.bug == name {
			direct = each.directions
		}
	}
	choose := func(flag string, value *int, wanted int) {
		if !runs.given[flag] {
			*value = wanted
		}
	}
	choose("histories", &runs.histories, direct.histories)
	choose("faults", &runs.options.Faults, direct.faults)
	choose("clients", &runs.options.Clients, direct.clients)
	choose("freezes", &runs.options.Freezes, direct.freezes)
	if !runs.given["seconds"] {
		runs.options.Seconds = direct.seconds
	}
	runs.options.Shape = direct.shape
}
