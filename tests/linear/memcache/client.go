// Package memcache is a client of the text protocol that reports exactly what
// it learned of each request: also that it learned nothing.
package memcache

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// Kind says what came of a request.
type Kind int

const (
	// Done: stored, deleted, updated, changed, or a hit.
	Done Kind = iota
	// Absent: a miss, NOT_FOUND.
	Absent
	// Exists: another CAS than asked for.
	Exists
	// NotStored: the condition of an add, append or prepend.
	NotStored
	// AlreadyThere: a transition to what the object is.
	AlreadyThere
	// Refused: an error that says that nothing was changed.
	Refused
	// Unknown: no answer, or one that says that the outcome is unknown.
	Unknown
	// NotSent: not a byte of it has left.
	NotSent
)

func (kind Kind) String() string {
	return [...]string{"done", "absent", "exists", "not stored",
		"already there", "refused", "unknown", "not sent"}[kind]
}

// Reply is the answer to one request.
type Reply struct {
	Kind  Kind
	Text  string // the line that was answered, or why there is none
	Value []byte // of a hit
	Cas   uint64 // of a hit that asked for it
}

// Conn is one connection, for one goroutine.
type Conn struct {
	link    net.Conn
	reader  *bufio.Reader
	timeout time.Duration
	broken  bool
}

// Dial connects; each request of the connection may take timeout.
func Dial(address string, timeout time.Duration) (*Conn, error) {
	link, err := net.DialTimeout("tcp", address, timeout)
	if err != nil {
		return nil, err
	}
	return &Conn{link: link, reader: bufio.NewReaderSize(link, 1<<16),
		timeout: timeout}, nil
}

// Close ends the connection.
func (conn *Conn) Close() { conn.link.Close() }

// Broken says that it can be used no more.
func (conn *Conn) Broken() bool { return conn.broken }

func (conn *Conn) fail(err error) Reply {
	conn.broken = true
	return Reply{Kind: Unknown, Text: err.Error()}
}

func (conn *Conn) line() (string, error) {
	line, err := conn.reader.ReadString('\n')
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(line, "\r\n"), nil
}

var kinds = map[string]Kind{
	"STORED": Done, "DELETED": Done, "UPDATED": Done, "TOUCHED": Done,
	"OK": Done, "END": Done, "NOT_FOUND": Absent, "EXISTS": Exists,
	"NOT_STORED": NotStored, "ALREADY_THERE": AlreadyThere,
}

// What an error says where the change may have happened.
const cutOff = "was cut off: it is the old or the new value"

func isError(line string) bool {
	return line == "ERROR" || strings.HasPrefix(line, "CLIENT_ERROR") ||
		strings.HasPrefix(line, "SERVER_ERROR")
}

func (conn *Conn) classify(line string) Reply {
	if kind, known := kinds[line]; known {
		return Reply{Kind: kind, Text: line}
	}
	if strings.Contains(line, cutOff) {
		return Reply{Kind: Unknown, Text: line}
	}
	if isError(line) {
		return Reply{Kind: Refused, Text: line}
	}
	if _, err := strconv.ParseUint(line, 10, 64); err == nil {
		return Reply{Kind: Done, Text: line}
	}
	return conn.fail(fmt.Errorf("an answer that makes no sense: %q", line))
}

// Sends a request and reads the first line of its answer; where there is none
// it returns what is learned by that.
func (conn *Conn) ask(head string, body []byte) (string, *Reply) {
	if err := conn.link.SetDeadline(time.Now().Add(conn.timeout)); err != nil {
		conn.broken = true
		return "", &Reply{Kind: NotSent, Text: err.Error()}
	}
	parts := net.Buffers{[]byte(head)}
	if body != nil {
		parts = append(parts, body, []byte("\r\n"))
	}
	if sent, err := parts.WriteTo(conn.link); err != nil {
		reply := conn.fail(err)
		if sent == 0 {
			reply.Kind = NotSent
		}
		return "", &reply
	}
	line, err := conn.line()
	if err != nil {
		reply := conn.fail(err)
		return "", &reply
	}
	return line, nil
}

// Command sends a line, with a body if it is not nil, that has one line of
// answer.
func (conn *Conn) Command(line string, body []byte) Reply {
	answer, failed := conn.ask(line+"\r\n", body)
	if failed != nil {
		return *failed
	}
	return conn.classify(answer)
}

// What meta commands answer.
var metaKinds = map[string]Kind{
	"HD": Done, "NF": Absent, "EX": Exists, "NS": NotStored,
}

// Meta sends a meta command without q and v, so that it has one line of answer.
func (conn *Conn) Meta(line string, body []byte) Reply {
	answer, failed := conn.ask(line+"\r\n", body)
	if failed != nil {
		return *failed
	}
	word, _, _ := strings.Cut(answer, " ")
	if kind, known := metaKinds[word]; known {
		return Reply{Kind: kind, Text: answer}
	}
	return conn.classify(answer)
}

// Store sends set, add, replace, append, prepend, or cas with a token.
func (conn *Conn) Store(verb, key string, value []byte, token uint64) Reply {
	more := ""
	if verb == "cas" {
		more = " " + strconv.FormatUint(token, 10)
	}
	return conn.Command(
		fmt.Sprintf("%s %s 0 0 %d%s", verb, key, len(value), more), value)
}

// Update overwrites the bytes from offset on.
func (conn *Conn) Update(key string, offset int, patch []byte) Reply {
	return conn.Command(
		fmt.Sprintf("ers update %s %d %d", key, offset, len(patch)), patch)
}

// Delete removes the key.
func (conn *Conn) Delete(key string) Reply {
	return conn.Command("delete "+key, nil)
}

// Touch gives the key an expiry; as every change does, it reconciles what another
// has left half done.
func (conn *Conn) Touch(key string, seconds int) Reply {
	return conn.Command(fmt.Sprintf("touch %s %d", key, seconds), nil)
}

const (
	insistTries = 20
	insistPause = 500 * time.Millisecond
)

// Insist asks until it is done or nothing is there: on a busy machine it may be
// refused at first.
func (conn *Conn) Insist(what string, ask func() Reply) error {
	reply := Reply{}
	for tries := 0; tries < insistTries; tries++ {
		reply = ask()
		if reply.Kind == Done || reply.Kind == Absent {
			return nil
		}
		if conn.Broken() {
			break
		}
		time.Sleep(insistPause)
	}
	return fmt.Errorf("%s fails in the end: %s", what, reply.Text)
}

// Transition changes width or scheme.
func (conn *Conn) Transition(key, to string) Reply {
	answer, failed := conn.ask(
		fmt.Sprintf("ers transition %s %s\r\n", key, to), nil)
	if failed != nil {
		return *failed
	}
	for strings.HasPrefix(answer, "STAT ") {
		var err error
		if answer, err = conn.line(); err != nil {
			return conn.fail(err)
		}
	}
	return conn.classify(answer)
}

// InPack says whether the key's value is in a pack.
func (conn *Conn) InPack(key string) (bool, Reply) {
	answer, failed := conn.ask(fmt.Sprintf("ers stat %s\r\n", key), nil)
	if failed != nil {
		return false, *failed
	}
	packed := false
	for strings.HasPrefix(answer, "STAT ") {
		packed = packed || strings.HasPrefix(answer, "STAT pack ")
		var err error
		if answer, err = conn.line(); err != nil {
			return false, conn.fail(err)
		}
	}
	return packed, conn.classify(answer)
}

// Get reads one key by get or gets, or by "gat 0".
func (conn *Conn) Get(verb, key string) Reply {
	answer, failed := conn.ask(verb+" "+key+"\r\n", nil)
	if failed != nil {
		return *failed
	}
	if answer == "END" {
		return Reply{Kind: Absent, Text: answer}
	}
	if isError(answer) {
		return Reply{Kind: Refused, Text: answer}
	}
	words := strings.Fields(answer)
	if len(words) < 4 || words[0] != "VALUE" || words[1] != key {
		return conn.fail(fmt.Errorf("an answer that makes no sense: %q", answer))
	}
	size, err := strconv.Atoi(words[3])
	if err != nil {
		return conn.fail(err)
	}
	reply := Reply{Kind: Done, Text: answer}
	if len(words) > 4 {
		if reply.Cas, err = strconv.ParseUint(words[4], 10, 64); err != nil {
			return conn.fail(err)
		}
	}
	const end = "\r\nEND\r\n"
	all := make([]byte, size+len(end))
	if _, err := io.ReadFull(conn.reader, all); err != nil {
		return conn.fail(err)
	}
	if !bytes.Equal(all[size:], []byte(end)) {
		return conn.fail(errors.New("a value without its end"))
	}
	reply.Value = all[:size]
	return reply
}
