// gomemcache with an ersproxy: go run with_gomemcache.go [HOST:PORT]
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

func main() {
	address := "127.0.0.1:11311"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	client := memcache.New(address)
	client.Timeout = 10 * time.Second // 0.5 s by default

	value := bytes.Repeat([]byte("x"), 3000000)
	item := &memcache.Item{Key: "photo", Value: value, Expiration: 3600}
	if err := client.Set(item); err != nil {
		log.Fatal(err)
	}
	got, err := client.Get("photo")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(got.Value), "bytes")
}
