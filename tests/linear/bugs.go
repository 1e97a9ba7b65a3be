package main

import (
	"fmt"
	"sort"
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

var usual = directions{histories: 6, seconds: 4, faults: 2, clients: 12,
	freezes: 30, shape: -1}

// The planted bugs that clients of real processes must see, as they break what
// those are told.
var visible = map[string]directions{
	"commit-by-set": usual,
}

func (runs *runs) catch(name string) int {
	names := []string{name}
	if name == "all" {
		names = names[:0]
		for each := range visible {
			names = append(names, each)
		}
		sort.Strings(names)
	}
	missed := []string{}
	for _, each := range names {
		caught, err := runs.catchOne(each)
		if err != nil {
			fmt.Println(err)
			return 3
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
			return false, fmt.Errorf("%s: %w", name, err)
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
	direct, known := visible[name]
	if !known {
		direct = usual
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
