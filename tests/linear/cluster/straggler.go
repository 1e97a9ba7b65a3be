package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// Straggler is a server behind a tails-relay, which makes some of its replies
// late. Its methods are for one goroutine.
type Straggler struct {
	command *exec.Cmd
	words   io.WriteCloser
	answers *bufio.Reader
}

// Straggle puts the relay before a server: under its name there is the relay
// from then on.
func (servers *Servers) Straggle(program string, number int) (*Straggler, error) {
	command := exec.Command(program, "--to", servers.port(number))
	command.SysProcAttr = ownGroup
	words, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	straggler := &Straggler{command, words, bufio.NewReader(output)}
	port, err := straggler.answers.ReadString('\n')
	if err != nil {
		straggler.Stop()
		return nil, fmt.Errorf("%s has ended: %w", program, err)
	}
	servers.Names[number-1] = "127.0.0.1:" + strings.TrimSpace(port)
	return straggler, nil
}

// Late has so many of 100 replies come so much later.
func (straggler *Straggler) Late(percent, milliseconds int) error {
	_, err := fmt.Fprintf(straggler.words, "late 0 %g %d\n",
		float64(percent)/100, milliseconds)
	if err != nil {
		return err
	}
	answer, err := straggler.answers.ReadString('\n')
	if err == nil && strings.HasPrefix(answer, "error") {
		return errors.New("tails-relay: " + strings.TrimSpace(answer))
	}
	return err
}

// Stop ends the relay, and whatever goes through it.
func (straggler *Straggler) Stop() {
	straggler.words.Close()
	straggler.command.Wait()
}
