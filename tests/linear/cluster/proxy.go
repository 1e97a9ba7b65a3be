package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A terminal's ^C is for the driver, which then ends what it started.
var ownGroup = &syscall.SysProcAttr{Setpgid: true}

const startDeadline = 60 * time.Second

// Proxy is an ersproxy that is killed and started again with the same
// configuration and state. One goroutine hurts it; any may ask.
type Proxy struct {
	program string
	folder  string
	env     []string
	log     *Log
	notices *net.UnixConn
	command *exec.Cmd
	ended   chan error // the running process' end

	mutex   sync.Mutex
	changed *sync.Cond
	address string // "" while there is none
	admin   string
	starts  int
	stopped bool
}

// NewProxy prepares one, with a folder of its own; env is added to its
// environment.
func NewProxy(program, folder string, log *Log, env ...string) (*Proxy, error) {
	notify := filepath.Join(folder, "notify")
	notices, err := net.ListenUnixgram("unixgram",
		&net.UnixAddr{Name: notify, Net: "unixgram"})
	if err != nil {
		return nil, err
	}
	proxy := &Proxy{program: program, folder: folder, log: log,
		notices: notices,
		env:     append(append(os.Environ(), "NOTIFY_SOCKET="+notify), env...)}
	proxy.changed = sync.NewCond(&proxy.mutex)
	return proxy, nil
}

// Configure writes the configuration that the next start or Reload reads.
func (proxy *Proxy) Configure(text string) error {
	return os.WriteFile(filepath.Join(proxy.folder, "ersproxy.yaml"),
		[]byte(text), 0o600)
}

// Start starts it and waits until it serves.
func (proxy *Proxy) Start() error {
	ports := filepath.Join(proxy.folder, "ports")
	proxy.command = exec.Command(proxy.program, "--config",
		filepath.Join(proxy.folder, "ersproxy.yaml"), "--port-file", ports)
	proxy.command.Stdout, proxy.command.Stderr = proxy.log.file, proxy.log.file
	proxy.command.Env = proxy.env
	proxy.command.SysProcAttr = ownGroup
	if err := proxy.command.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func(command *exec.Cmd) {
		ended <- command.Wait()
		// A wait for its notices ends.
		proxy.notices.SetReadDeadline(time.Now())
	}(proxy.command)
	proxy.ended = ended
	if err := proxy.expect("READY=1"); err != nil {
		proxy.Kill()
		return err
	}
	text, err := os.ReadFile(ports)
	if err != nil {
		return err
	}
	addresses := strings.Fields(string(text))
	if len(addresses) != 2 {
		return fmt.Errorf("listens on %v", addresses)
	}
	proxy.publish(addresses[0], addresses[1])
	return nil
}

func (proxy *Proxy) publish(address, admin string) {
	proxy.mutex.Lock()
	proxy.address, proxy.admin = address, admin
	if address != "" {
		proxy.starts++
	}
	proxy.mutex.Unlock()
	proxy.changed.Broadcast()
}

// Address waits until there is one to connect to; "" once Stop was called. The
// number is another for each process.
func (proxy *Proxy) Address() (string, int) {
	proxy.mutex.Lock()
	defer proxy.mutex.Unlock()
	for proxy.address == "" && !proxy.stopped {
		proxy.changed.Wait()
	}
	if proxy.stopped {
		return "", proxy.starts
	}
	return proxy.address, proxy.starts
}

// Admin is the address of its HTTP; "" while there is none.
func (proxy *Proxy) Admin() string {
	proxy.mutex.Lock()
	defer proxy.mutex.Unlock()
	return proxy.admin
}

// Stop ends every wait for an address.
func (proxy *Proxy) Stop() {
	proxy.mutex.Lock()
	proxy.stopped = true
	proxy.mutex.Unlock()
	proxy.changed.Broadcast()
}

// Waits for a notice; one of an earlier process may come before it.
func (proxy *Proxy) expect(notice string) error {
	deadline := time.Now().Add(startDeadline)
	proxy.notices.SetReadDeadline(deadline)
	said := make([]byte, 4096)
	for {
		count, err := proxy.notices.Read(said)
		if err == nil && string(said[:count]) == notice {
			return nil
		}
		if err == nil {
			continue
		}
		select {
		case why := <-proxy.ended:
			proxy.ended <- why
			return fmt.Errorf("ersproxy has ended (%v): see %s", why,
				proxy.log.Path())
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("ersproxy did not say %s: %v", notice, err)
		}
		proxy.notices.SetReadDeadline(deadline)
	}
}

// Reload is SIGHUP; it waits until the configuration was read.
func (proxy *Proxy) Reload() error {
	if err := proxy.command.Process.Signal(syscall.SIGHUP); err != nil {
		return err
	}
	if err := proxy.expect("RELOADING=1"); err != nil {
		return err
	}
	return proxy.expect("READY=1")
}

// Kill is kill -9; it waits for the end. It may have ended before.
func (proxy *Proxy) Kill() {
	proxy.publish("", "")
	if proxy.ended == nil {
		return
	}
	proxy.command.Process.Kill()
	<-proxy.ended
	proxy.ended = nil
}

// Terminate is SIGTERM; it waits for the end, which must be a good one.
func (proxy *Proxy) Terminate() error {
	proxy.publish("", "")
	if err := proxy.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-proxy.ended:
		proxy.ended = nil
		return err
	case <-time.After(startDeadline):
		proxy.Kill()
		return errors.New("ersproxy does not end on SIGTERM")
	}
}

// Ended says why the process is no more, though no test ended it.
func (proxy *Proxy) Ended() error {
	if proxy.ended == nil {
		return nil
	}
	select {
	case err := <-proxy.ended:
		proxy.ended <- err
		return fmt.Errorf("ersproxy has ended by itself: %v", err)
	default:
		return nil
	}
}

// Pid is that of the running process.
func (proxy *Proxy) Pid() int { return proxy.command.Process.Pid }

var adminClient = &http.Client{
	Timeout:   time.Minute,
	Transport: &http.Transport{DisableKeepAlives: true},
}

// Ask sends a request to the admin port; body may be nil. It returns the code
// and the answer.
func (proxy *Proxy) Ask(method, path string, body any) (int, []byte, error) {
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		reader = strings.NewReader(string(text))
	}
	admin := proxy.Admin()
	if admin == "" {
		return 0, nil, errors.New("there is no proxy")
	}
	request, err := http.NewRequest(method, "http://"+admin+path, reader)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	reply, err := adminClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer reply.Body.Close()
	answer, err := io.ReadAll(reply.Body)
	return reply.StatusCode, answer, err
}

// States returns what the view says of each server, by name.
func (proxy *Proxy) States() (map[string]string, error) {
	_, answer, err := proxy.Ask("GET", "/status", nil)
	if err != nil {
		return nil, err
	}
	var status struct {
		Servers []struct{ Name, State string }
	}
	if err := json.Unmarshal(answer, &status); err != nil {
		return nil, err
	}
	states := map[string]string{}
	for _, server := range status.Servers {
		states[server.Name] = server.State
	}
	return states, nil
}
