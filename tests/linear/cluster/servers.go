// Package cluster runs real memcached servers and an ersproxy before them, and
// hurts both.
package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Servers are those of memcached-cluster/cluster, numbered from 1. Its methods
// may be called by any goroutine.
type Servers struct {
	Names  []string // host:port, in order
	ports  []string
	tool   string
	folder string
}

// StartServers starts count of them, with their state in folder.
func StartServers(top, folder string, count int, more ...string) (*Servers, error) {
	servers := &Servers{
		tool:   filepath.Join(top, "memcached-cluster", "cluster"),
		folder: folder,
	}
	up := append([]string{"up", "-n", strconv.Itoa(count), "--no-evict"}, more...)
	if _, err := servers.run(up...); err != nil {
		return nil, err
	}
	output, err := servers.run("env")
	if err != nil {
		servers.Down()
		return nil, err
	}
	_, list, _ := strings.Cut(strings.TrimSpace(output), "=")
	servers.Names = strings.Split(list, ",")
	for _, name := range servers.Names {
		_, port, _ := strings.Cut(name, ":")
		servers.ports = append(servers.ports, port)
	}
	return servers, nil
}

func (servers *Servers) port(number int) string {
	return servers.ports[number-1]
}

func (servers *Servers) run(words ...string) (string, error) {
	command := exec.Command("python3",
		append([]string{servers.tool, "--dir", servers.folder}, words...)...)
	command.SysProcAttr = ownGroup
	out, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cluster %v: %v: %s", words, err, out)
	}
	return string(out), nil
}

// The tool knows the pid; a signal goes to no other process than the memcached
// of that port.
func (servers *Servers) signal(number int, sent syscall.Signal) (int, error) {
	text, err := os.ReadFile(filepath.Join(servers.folder,
		fmt.Sprintf("memcached-%d.pid", number)))
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, err
	}
	words, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return 0, err
	}
	if !strings.Contains(string(words), "\x00-p\x00"+servers.port(number)+"\x00") {
		return 0, fmt.Errorf("process %d is not server %d", pid, number)
	}
	return pid, syscall.Kill(pid, sent)
}

// Kill is kill -9: the server's memory is lost.
func (servers *Servers) Kill(number int) error {
	pid, err := servers.signal(number, syscall.SIGKILL)
	if err != nil {
		return err
	}
	for end := time.Now().Add(startDeadline); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		// A zombie has given up its port and waits for init.
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("server %d does not die", number)
		}
	}
}

// Start starts a dead one, which is empty.
func (servers *Servers) Start(number int) error {
	_, err := servers.run("start", strconv.Itoa(number))
	return err
}

// Freeze stops one, which keeps its memory.
func (servers *Servers) Freeze(number int) error {
	_, err := servers.signal(number, syscall.SIGSTOP)
	return err
}

// Thaw lets a frozen one go on.
func (servers *Servers) Thaw(number int) error {
	_, err := servers.signal(number, syscall.SIGCONT)
	return err
}

// Down ends all.
func (servers *Servers) Down() error {
	_, err := servers.run("down")
	return err
}
