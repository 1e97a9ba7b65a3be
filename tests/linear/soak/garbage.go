package main

import (
	"bufio"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"linear/memcache"
)

// garbage deletes every key and tells what blocks the servers still have: those
// that changes left behind that were cut off.
func (s *soak) garbage(workers []*worker, servers []string) error {
	for _, worker := range workers {
		for _, object := range worker.all() {
			if !worker.connect() {
				return fmt.Errorf("there is no proxy")
			}
			reply := worker.conn.Delete(object.key)
			if reply.Kind != memcache.Done && reply.Kind != memcache.Absent {
				return fmt.Errorf("%s cannot be deleted in the end: %s", object.key,
					reply.Text)
			}
		}
	}
	// Values of several groups stay so long for readers under way.
	time.Sleep(6 * time.Second)
	blocks, bytes := 0, 0
	for _, server := range servers {
		count, size, err := blocksOf(server)
		if err != nil {
			return err
		}
		blocks, bytes = blocks+count, bytes+size
	}
	fmt.Printf("garbage: %d blocks, %d bytes\n", blocks, bytes)
	return nil
}

// The blocks that a server holds, and the bytes of their items.
func blocksOf(server string) (count, bytes int, err error) {
	link, err := net.DialTimeout("tcp", server, 10*time.Second)
	if err != nil {
		return 0, 0, err
	}
	defer link.Close()
	link.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprint(link, "lru_crawler metadump hash\r\n")
	lines := bufio.NewScanner(link)
	for lines.Scan() {
		line := lines.Text()
		if line == "END" {
			return count, bytes, nil
		}
		words := strings.Fields(line)
		if len(words) == 0 || !strings.HasPrefix(words[0], "key=") {
			return 0, 0, fmt.Errorf("%s: %s", server, line)
		}
		key, err := url.QueryUnescape(strings.TrimPrefix(words[0], "key="))
		if err != nil {
			return 0, 0, err
		}
		if !strings.HasPrefix(key, "ers!b") || !strings.Contains(key, ".") {
			continue
		}
		count++
		for _, word := range words {
			if size, err := strconv.Atoi(strings.TrimPrefix(word, "size=")); err == nil {
				bytes += size
			}
		}
	}
	return 0, 0, fmt.Errorf("%s: %v", server, lines.Err())
}
