package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Ending checks what the servers hold once nothing is written any more.
type Ending struct {
	Faults    *Faults
	Ctl       string       // ersctl
	Reconcile func() error // what was cut off half way
	Delete    func() error // every object
}

// Remains are what was found.
type Remains struct {
	Objects int
	Blocks  int // that the objects have, and that the servers hold
	Garbage int // blocks that were dropped
}

func (remains Remains) String() string {
	return fmt.Sprintf("0 of %d objects damaged, %d blocks on the servers, all "+
		"live, %d were garbage", remains.Objects, remains.Blocks, remains.Garbage)
}

const (
	epochTries    = 10
	dropsDeadline = 60 * time.Second
	stubsDeadline = 70 * time.Second
	mostNamed     = 100
)

// Check wants every object whole; after one collection of garbage no block
// that no object has; and once all objects are deleted, and garbage is
// collected again, nothing that lasts but the cluster's own records.
func (ending *Ending) Check() (Remains, error) {
	if err := ending.Faults.waitUntilFull(); err != nil {
		return Remains{}, err
	}
	if err := ending.Reconcile(); err != nil {
		return Remains{}, err
	}
	remains, err := ending.collect()
	if err != nil {
		return remains, err
	}
	err = ending.holds(fmt.Sprintf("%d blocks", remains.Blocks),
		func(item Item) bool { return item.IsBlock() }, remains.Blocks)
	if err != nil {
		return remains, err
	}
	if err := ending.Delete(); err != nil {
		return remains, err
	}
	empty, err := ending.collect()
	if err != nil {
		return remains, err
	}
	if empty.Objects > 0 {
		return remains, fmt.Errorf("%d objects were deleted and are there",
			empty.Objects)
	}
	return remains, ending.holds("nothing but the cluster's records",
		func(item Item) bool {
			return item.Key != "ers!view" && item.Key != "ers!boot" &&
				item.Key != "ers!peers" &&
				!strings.HasPrefix(item.Key, "ers!p.") &&
				!strings.HasPrefix(item.Key, "ers!spare.")
		}, 0)
}

// Verifies and collects under one view: what a server has that leaves it
// meanwhile is out of reach, and stays.
func (ending *Ending) collect() (Remains, error) {
	for tries := 0; tries < epochTries; tries++ {
		if err := ending.Faults.waitUntilFull(); err != nil {
			return Remains{}, err
		}
		before, err := ending.epoch()
		if err != nil {
			return Remains{}, err
		}
		remains, wrong := ending.collectOnce()
		after, err := ending.epoch()
		if err != nil {
			return Remains{}, err
		}
		if before == after {
			return remains, wrong
		}
	}
	return Remains{}, errors.New("the view does not come to rest")
}

func (ending *Ending) epoch() (int, error) {
	answer := struct{ Epoch int }{}
	return answer.Epoch, ending.ask(&answer, "servers")
}

func (ending *Ending) collectOnce() (Remains, error) {
	// Packs that nothing names any more count as objects until then.
	packs, err := ending.collectGarbage()
	if err != nil {
		return Remains{}, err
	}
	verified := struct {
		Objects, Damaged, Unreadable, Unchecked, Blocks int
		Findings                                        []json.RawMessage
	}{}
	if err := ending.ask(&verified, "verify"); err != nil {
		return Remains{}, err
	}
	remains := Remains{Objects: verified.Objects, Blocks: verified.Blocks}
	if verified.Damaged+verified.Unreadable+verified.Unchecked > 0 {
		return remains, fmt.Errorf("%d objects of %d are damaged, %d of them "+
			"cannot be read, %d cannot be checked: %s", verified.Damaged,
			verified.Objects, verified.Unreadable, verified.Unchecked,
			verified.Findings)
	}
	rest, err := ending.collectGarbage()
	remains.Garbage = packs + rest
	return remains, err
}

// The number of blocks.
func (ending *Ending) collectGarbage() (int, error) {
	collected := struct {
		Dropped, Skipped, Silent int
		Why                      string
	}{}
	for end := time.Now().Add(stubsDeadline); ; time.Sleep(time.Second) {
		if err := ending.ask(&collected, "gc", "--grace", "0"); err != nil {
			return 0, err
		}
		// Of a pack that was never stored: it says no key.
		stub := strings.HasSuffix(collected.Why, "is being written")
		if !stub || time.Now().After(end) {
			break
		}
	}
	if collected.Skipped+collected.Silent > 0 {
		return collected.Dropped, fmt.Errorf("%d blocks may be garbage and are "+
			"left: %s", collected.Skipped, collected.Why)
	}
	return collected.Dropped, nil
}

// Waits until so many of the items that last are of a kind: what was replaced
// is dropped in the background.
func (ending *Ending) holds(what string, kind func(Item) bool, wanted int) error {
	for end := time.Now().Add(dropsDeadline); ; time.Sleep(50 * time.Millisecond) {
		found := []string{}
		for _, server := range ending.Faults.Servers.Names {
			items, err := Items(server)
			if err != nil {
				return err
			}
			for _, item := range items {
				if item.Lasts() && kind(item) {
					found = append(found, server+" "+item.Key)
				}
			}
		}
		if len(found) == wanted {
			return nil
		}
		if time.Now().After(end) {
			count := len(found)
			if count > mostNamed {
				found = append(found[:mostNamed], "...")
			}
			return fmt.Errorf("the servers should hold %s, and hold %d: %v", what,
				count, found)
		}
	}
}

// Runs ersctl beside the proxy, and reads what it prints as JSON.
func (ending *Ending) ask(answer any, words ...string) error {
	command := exec.Command(ending.Ctl, append([]string{"--servers",
		strings.Join(ending.Faults.Servers.Names, ","), "--state", "-", "--json",
		"--timeout", "300"}, words...)...)
	command.SysProcAttr = ownGroup
	var complaint strings.Builder
	command.Stderr = &complaint
	out, err := command.Output()
	if bad := json.Unmarshal(out, answer); bad != nil {
		return fmt.Errorf("ersctl %v: %v: %s%s", words, err, out,
			complaint.String())
	}
	return nil // damage has an exit code of its own
}
