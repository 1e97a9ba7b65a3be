// gomemcache against a server; see clients_test.py for the contract.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

// The same bytes in every client: no period of a power of two.
func valueOf(size, version int) []byte {
	value := make([]byte, size)
	for i := range value {
		value[i] = byte((i + version) % 251)
	}
	return value
}

func need(condition bool, what ...interface{}) {
	if !condition {
		fmt.Fprintln(os.Stderr, "wrong:", what)
		os.Exit(1)
	}
}

func has(client *memcache.Client, key string, value []byte) *memcache.Item {
	item, err := client.Get(key)
	need(err == nil, "get", key, err)
	need(bytes.Equal(item.Value, value), "value of", key, len(item.Value))
	return item
}

func check(client *memcache.Client, prefix string, size, version int) []byte {
	key := prefix + strconv.Itoa(size)
	first, second, third := valueOf(size, version), valueOf(size, version+1),
		valueOf(size, version+2)
	err := client.Set(&memcache.Item{Key: key, Value: first, Flags: 77})
	need(err == nil, "set", key, err)
	item, old := has(client, key, first), has(client, key, first)
	need(item.Flags == 77, "flags", key)
	item.Value, old.Value = second, third
	err = client.CompareAndSwap(item)
	need(err == nil, "cas", key, err)
	err = client.CompareAndSwap(old)
	need(err == memcache.ErrCASConflict, "old cas", key, err)
	has(client, key, second)
	err = client.Touch(key, 1000)
	need(err == nil, "touch", key, err)
	has(client, key, second)
	gone := prefix + "gone" + strconv.Itoa(size)
	err = client.Set(&memcache.Item{Key: gone, Value: third})
	need(err == nil, "set", gone, err)
	err = client.Delete(gone)
	need(err == nil, "delete", gone, err)
	_, err = client.Get(gone)
	need(err == memcache.ErrCacheMiss, "get of a deleted key", gone, err)
	err = client.Delete(gone)
	need(err == memcache.ErrCacheMiss, "second delete", gone, err)
	return second
}

func round(client *memcache.Client, prefix string, sizes []string, version int) {
	keys := []string{prefix + "none"}
	wanted := map[string][]byte{}
	for _, word := range sizes {
		size, _ := strconv.Atoi(word)
		keys = append(keys, prefix+word)
		wanted[prefix+word] = check(client, prefix, size, version)
	}
	got, err := client.GetMulti(keys)
	need(err == nil && len(got) == len(wanted), "get of many", err, len(got))
	for key, value := range wanted {
		need(bytes.Equal(got[key].Value, value), "get of many", key)
	}
	number := prefix + "n"
	err = client.Set(&memcache.Item{Key: number, Value: []byte("40")})
	need(err == nil, "set", number, err)
	more, err := client.Increment(number, 2)
	need(err == nil && more == 42, "incr", more, err)
	less, err := client.Decrement(number, 1)
	need(err == nil && less == 41, "decr", less, err)
}

func main() {
	client := memcache.New(os.Args[1])
	client.Timeout = 60 * time.Second
	fmt.Println("gomemcache")
	rounds := bufio.NewScanner(os.Stdin)
	for version := 0; rounds.Scan(); version++ {
		round(client, os.Args[2], os.Args[3:], version)
		fmt.Println("round")
	}
}
