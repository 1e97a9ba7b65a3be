package cluster

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Use is what a process takes of the machine.
type Use struct {
	Bytes       int // resident
	Descriptors int
}

func (use Use) String() string {
	return fmt.Sprintf("%.1f MiB, %d descriptors", float64(use.Bytes)/(1<<20),
		use.Descriptors)
}

// Above says that use is more than warm, by more than chance explains.
func (use Use) Above(warm Use) error {
	if use.Bytes > warm.Bytes+warm.Bytes/4+64<<20 ||
		use.Descriptors > warm.Descriptors+16 {
		return fmt.Errorf("the proxy has grown from %v to %v", warm, use)
	}
	return nil
}

// Use of the running process.
func (proxy *Proxy) Use() (Use, error) {
	folder := fmt.Sprintf("/proc/%d", proxy.Pid())
	open, err := os.ReadDir(folder + "/fd")
	if err != nil {
		return Use{}, err
	}
	status, err := os.ReadFile(folder + "/status")
	if err != nil {
		return Use{}, err
	}
	for _, line := range strings.Split(string(status), "\n") {
		words := strings.Fields(line)
		if len(words) == 3 && words[0] == "VmRSS:" {
			kilobytes, err := strconv.Atoi(words[1])
			return Use{kilobytes << 10, len(open)}, err
		}
	}
	return Use{}, fmt.Errorf("no VmRSS in %s/status", folder)
}
