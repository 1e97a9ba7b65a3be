package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Item is what a server's dump shows of one.
type Item struct {
	Key     string
	Expires int64 // Unix seconds; -1: never
}

// IsBlock says whether it is one of an object.
func (item Item) IsBlock() bool {
	return strings.HasPrefix(item.Key, "ers!b") && strings.Contains(item.Key, ".")
}

// Lasts says that it does not go by itself: blocks that are left to late
// readers, tombstones and stubs do within about two minutes.
func (item Item) Lasts() bool {
	return item.Expires < 0 || item.Expires > time.Now().Unix()+125
}

const dumpDeadline = time.Minute

var errBusy = errors.New("another dump is under way")

// Items returns all that a server holds.
func Items(server string) ([]Item, error) {
	for end := time.Now().Add(dumpDeadline); ; time.Sleep(10 * time.Millisecond) {
		items, err := dump(server)
		if !errors.Is(err, errBusy) || time.Now().After(end) {
			return items, err
		}
	}
}

func dump(server string) ([]Item, error) {
	link, err := dial(server)
	if err != nil {
		return nil, err
	}
	defer link.Close()
	fmt.Fprint(link, "lru_crawler metadump hash\r\n")
	items := []Item{}
	lines := bufio.NewScanner(link)
	for lines.Scan() {
		line := lines.Text()
		if line == "END" {
			return items, nil
		}
		if strings.HasPrefix(line, "BUSY") {
			return nil, errBusy
		}
		item, err := parseItem(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", server, err)
		}
		items = append(items, item)
	}
	return nil, fmt.Errorf("%s: %v", server, lines.Err())
}

func parseItem(line string) (Item, error) {
	item := Item{}
	var err error
	for _, word := range strings.Fields(line) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "key":
			item.Key, err = url.QueryUnescape(value)
		case "exp":
			item.Expires, err = strconv.ParseInt(value, 10, 64)
		}
		if err != nil {
			return item, err
		}
	}
	if item.Key == "" || item.Expires == 0 {
		return item, fmt.Errorf("%q describes no item", line)
	}
	return item, nil
}

func dial(server string) (net.Conn, error) {
	link, err := net.DialTimeout("tcp", server, time.Minute)
	if err != nil {
		return nil, err
	}
	link.SetDeadline(time.Now().Add(dumpDeadline))
	return link, nil
}

// Damage turns over a bit of each block that a server holds, and returns how
// many there were. One that was dropped meanwhile stays away.
func Damage(server string) (int, error) {
	items, err := Items(server)
	if err != nil {
		return 0, err
	}
	link, err := dial(server)
	if err != nil {
		return 0, err
	}
	defer link.Close()
	count, reader := 0, bufio.NewReader(link)
	for _, item := range items {
		if !item.IsBlock() || item.Expires >= 0 {
			continue
		}
		done, err := damage(link, reader, item.Key)
		if err != nil {
			return count, fmt.Errorf("%s: %w", server, err)
		}
		if done {
			count++
		}
	}
	return count, nil
}

func damage(link net.Conn, reader *bufio.Reader, key string) (bool, error) {
	fmt.Fprintf(link, "mg %s v c\r\n", key)
	line, err := reader.ReadString('\n')
	if err != nil || strings.HasPrefix(line, "EN") {
		return false, err
	}
	size, token := 0, ""
	if _, err := fmt.Sscanf(line, "VA %d %s", &size, &token); err != nil {
		return false, fmt.Errorf("%q: %w", line, err)
	}
	value := make([]byte, size+2)
	if _, err := io.ReadFull(reader, value); err != nil {
		return false, err
	}
	value[size-1] ^= 1
	// The token, as "c17", is also the flag that asks for it.
	fmt.Fprintf(link, "ms %s %d %s\r\n", key, size, strings.ToUpper(token))
	if _, err := link.Write(value); err != nil {
		return false, err
	}
	line, err = reader.ReadString('\n')
	return strings.HasPrefix(line, "HD"), err
}
