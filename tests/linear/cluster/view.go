package cluster

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// View is the record of one that a server has (docs/reference/format.md).
type View struct {
	Epoch   int
	Members []struct{ Name, State string }
}

// StoredView reads it. A server that was started empty gets one when it is
// filled.
func StoredView(server string) (View, error) {
	view := View{}
	link, err := dial(server)
	if err != nil {
		return view, err
	}
	defer link.Close()
	fmt.Fprint(link, "mg ers!view v\r\n")
	reader := bufio.NewReader(link)
	line, err := reader.ReadString('\n')
	if err != nil {
		return view, err
	}
	size := 0
	if _, err := fmt.Sscanf(line, "VA %d", &size); err != nil {
		return view, fmt.Errorf("%s has no view: %q", server, line)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(reader, text); err != nil {
		return view, err
	}
	err = json.Unmarshal(text, &view)
	return view, err
}

// States of the servers by name, as several see them.
type seen []map[string]string

// Those that are not in sync in some view.
func (seen seen) out() []string {
	names := []string{}
	for _, states := range seen {
		for name, state := range states {
			if state != "in_sync" {
				names = append(names, name)
			}
		}
	}
	return names
}

// Whether all servers are in sync, by the view of every proxy, one of which may
// not have missed yet what another has, and by the newest one that is stored:
// a change that waits for a proxy that was killed is in no other for 1 s. Also
// what those say.
func allInSync(servers []string, proxies []*Proxy) (bool, seen) {
	all, seen, newest := true, seen{}, 0
	for _, proxy := range proxies {
		states, err := proxy.States()
		all = all && err == nil && len(states) == len(servers)
		seen = append(seen, states)
	}
	live := len(seen)
	for _, server := range servers {
		view, err := StoredView(server)
		all = all && err == nil
		if view.Epoch > newest {
			newest, seen = view.Epoch, seen[:live]
		}
		if err == nil && view.Epoch == newest {
			states := map[string]string{}
			for _, member := range view.Members {
				state := member.State
				if state == "full" { // as records have it
					state = "in_sync"
				}
				states[member.Name] = state
			}
			seen = append(seen, states)
		}
	}
	return all && len(seen.out()) == 0, seen
}
