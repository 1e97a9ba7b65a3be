package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// LogName is the file's, in its folder.
const LogName = "proxy.log"

// Log is what all processes of all proxies of a cluster say, and what hurts
// them: one file, so that it shows what came first. Any goroutine may write.
type Log struct{ file *os.File }

// NewLog begins one.
func NewLog(folder string) (*Log, error) {
	file, err := os.OpenFile(filepath.Join(folder, LogName),
		os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	return &Log{file}, err
}

// Path of the file.
func (log *Log) Path() string { return log.file.Name() }

// Note writes a line between those of the proxies.
func (log *Log) Note(format string, values ...any) {
	fmt.Fprintf(log.file, format+"\n", values...)
}

// Close ends it for this process.
func (log *Log) Close() { log.file.Close() }

// BeyondF is what the log has of servers that were out together.
func (log *Log) BeyondF(m int) ([]string, error) {
	text, err := os.ReadFile(log.Path())
	return BeyondF(string(text), m), err
}

var (
	loses = regexp.MustCompile(`fault: (\S+) (?:loses its memory|is not in sync)`)
	down  = regexp.MustCompile(`view (\d+): (\S+) is down`)
	full  = regexp.MustCompile(`view (\d+): (\S+) is in sync again`)
)

// BeyondF returns the servers that were out together at some time though there
// were more than m, by what the proxies and the faults have logged: on a busy
// machine one may be taken for dead just when another is killed. Nothing is
// promised then. nil if it never was so.
func BeyondF(log string, m int) []string {
	out := map[string]bool{}
	last := map[string]int{} // view that showed it
	// What one proxy says may come after what another says of a later view.
	changes := func(found []string) bool {
		view, _ := strconv.Atoi(found[1])
		newer := view > last[found[2]]
		if newer {
			last[found[2]] = view
		}
		return newer
	}
	for _, line := range strings.Split(log, "\n") {
		if found := loses.FindStringSubmatch(line); found != nil {
			out[found[1]] = true
		} else if found := down.FindStringSubmatch(line); found != nil {
			if changes(found) {
				out[found[2]] = true
			}
		} else if found := full.FindStringSubmatch(line); found != nil {
			if changes(found) {
				delete(out, found[2])
			}
		} else if strings.HasSuffix(line, "fault: all are in sync") {
			// A proxy that is killed may not have come to say so.
			out = map[string]bool{}
		}
		if len(out) > m {
			names := []string{}
			for name := range out {
				names = append(names, name)
			}
			sort.Strings(names)
			return names
		}
	}
	return nil
}
