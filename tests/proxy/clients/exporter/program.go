//go:build program

// Names the program that exporter_test.py runs, so that go.mod and go.sum hold
// all that it is built of.
package program

import _ "github.com/prometheus/memcached_exporter/cmd/memcached_exporter"
