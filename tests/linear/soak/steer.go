package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"path/filepath"
	"strings"
	"time"

	"linear/cluster"
)

// Every pack's key begins so.
const packPrefix = "ers!pack."

// steer does what an operator does: writes new settings and reloads them,
// starts jobs, pauses and cancels them. For the goroutine of the faults.
type steer struct {
	proxy   *cluster.Proxy
	random  *rand.Rand
	servers []string
	shape   shape
	quiet   bool // no policies any more
	folder  string
	threads int
	reloads int
	started int
}

// settings that SIGHUP may change.
func (steer *steer) configuration() string {
	quoted := []string{}
	for _, server := range steer.servers {
		quoted = append(quoted, fmt.Sprintf("%q", server))
	}
	policies := ""
	if !steer.quiet && steer.random.Intn(4) > 0 {
		policies = fmt.Sprintf(`policies:
  widen: {idle_s: %d, every_s: 2, prefix: "long:policy", parallel: %d}
  narrow: {hits: 2, within_s: 2, prefix: "long:policy"}
  pack: {idle_s: %d, every_s: 1, prefix: "%s", parallel: %d}
  leave_alone_s: 1
`, 3+steer.random.Intn(3), 1+steer.random.Intn(6), 1+steer.random.Intn(4),
			coldPrefix, 1+steer.random.Intn(6))
	}
	return fmt.Sprintf(`listen: ["127.0.0.1:0"]
admin: "127.0.0.1:0"
servers: [%s]
max_failures: %d
scheme: %s
column_below: 65536
rules:
  - {glob: "*:rep:*", scheme: "%s", inline_below: %d}
  - {glob: "*:rs:*", min_value_bytes: %d, scheme: "%s"}
  - {glob: "%s*", scheme: "%s", inline_below: 4096}
state_file: %s
state_dir: %s
threads: %d
timeouts: {connect_ms: 250, request_ms: %d, operation_ms: 5000}
limits: {memory_in_flight_bytes: %d}
%s`, strings.Join(quoted, ", "), steer.shape.m, steer.shape.scheme,
		steer.shape.copies, steer.random.Intn(10_000),
		steer.random.Intn(100_000), steer.shape.plain, coldPrefix,
		steer.shape.scheme, filepath.Join(steer.folder, "view"),
		filepath.Join(steer.folder, "state"), steer.threads,
		requestTimeout.Milliseconds(), (192+steer.random.Intn(300))<<20,
		policies)
}

// between is called between two incidents.
func (steer *steer) between() error {
	if steer.random.Intn(3) == 0 {
		if err := steer.proxy.Configure(steer.configuration()); err != nil {
			return err
		}
		if err := steer.proxy.Reload(); err != nil {
			return err
		}
		steer.reloads++
	}
	return steer.work()
}

// target is what a job makes of which keys. A change of the width of cold values
// is one of their packs', too.
func (steer *steer) target() (to, prefix string) {
	targets := steer.shape.targets
	switch steer.random.Intn(4) {
	case 0:
		return "pack", coldPrefix
	case 1:
		return []string{"wide", "narrow"}[steer.random.Intn(2)],
			[]string{coldPrefix, packPrefix}[steer.random.Intn(2)]
	default:
		return targets[steer.random.Intn(len(targets))],
			[]string{"long:job", "long:plain"}[steer.random.Intn(2)]
	}
}

func (steer *steer) start(to, prefix string) error {
	code, answer, err := steer.proxy.Ask("POST", "/v1/jobs", map[string]any{
		"to": to, "parallel": 1 + steer.random.Intn(4),
		"select": map[string]any{"prefix": prefix},
	})
	if err != nil || code != 201 {
		return fmt.Errorf("no job to %s: %d %s %v", to, code, answer, err)
	}
	steer.started++
	return nil
}

func (steer *steer) work() error {
	jobs, err := steer.jobs()
	if err != nil {
		return err
	}
	under := []job{}
	for _, each := range jobs {
		if !each.ended() {
			under = append(under, each)
		}
	}
	if len(under) < 4 {
		if err := steer.start(steer.target()); err != nil {
			return err
		}
	}
	if len(under) == 0 {
		return nil
	}
	chosen := under[steer.random.Intn(len(under))]
	word := []string{"pause", "resume", "resume", "cancel"}[steer.random.Intn(4)]
	code, answer, err := steer.proxy.Ask("POST",
		"/v1/jobs/"+chosen.ID+"/"+word, nil)
	// 409: it has ended meanwhile.
	if err != nil || code != 200 && code != 409 {
		return fmt.Errorf("%s of job %s: %d %s %v", word, chosen.ID, code, answer,
			err)
	}
	return nil
}

type job struct {
	ID        string
	State     string
	Objects   map[string]int
	LastError string `json:"last_error"`
}

func (job job) ended() bool {
	return job.State == "done" || job.State == "cancelled" ||
		job.State == "failed"
}

func (steer *steer) jobs() ([]job, error) {
	_, answer, err := steer.proxy.Ask("GET", "/v1/jobs", nil)
	if err != nil {
		return nil, err
	}
	var status struct{ Jobs []job }
	return status.Jobs, json.Unmarshal(answer, &status)
}

// finish ends the policies and lets all jobs end, and returns how many objects
// they changed and could not change.
func (steer *steer) finish() (map[string]int, error) {
	steer.quiet = true
	if err := steer.proxy.Configure(steer.configuration()); err != nil {
		return nil, err
	}
	if err := steer.proxy.Reload(); err != nil {
		return nil, err
	}
	// So that what is read back then, and checked, is in packs.
	if err := steer.start("pack", coldPrefix); err != nil {
		return nil, err
	}
	deadline := time.Now().Add(3 * time.Minute)
	for ; ; time.Sleep(50 * time.Millisecond) {
		jobs, err := steer.jobs()
		if err != nil {
			return nil, err
		}
		ended, sum := true, map[string]int{}
		for _, each := range jobs {
			for what, count := range each.Objects {
				sum[what] += count
			}
			sum[each.State]++
			if each.State == "failed" {
				return sum, fmt.Errorf("job %s failed: %s", each.ID, each.LastError)
			}
			if each.ended() {
				continue
			}
			ended = false
			if each.State == "paused" {
				steer.proxy.Ask("POST", "/v1/jobs/"+each.ID+"/resume", nil)
			}
		}
		if ended {
			return sum, nil
		}
		if time.Now().After(deadline) {
			return sum, fmt.Errorf("jobs do not end: %v", jobs)
		}
	}
}
