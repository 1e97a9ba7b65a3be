package cluster

import (
	"strings"
	"testing"
)

func TestMoreThanMOut(t *testing.T) {
	for _, story := range []struct {
		log    string
		m      int
		beyond string
	}{
		{"", 1, ""},
		{"fault: a loses its memory\nview 2: a is down (x)", 1, ""},
		{"fault: a loses its memory\nview 2: b is down (x)", 1, "a b"},
		{"fault: a loses its memory\nview 2: b is down (x)", 2, ""},
		{"view 2: b is down (x)\nview 3: b is back and is backfilled\n" +
			"fault: a loses its memory", 1, "a b"},
		{"view 2: b is down (x)\nview 3: b is in sync again\n" +
			"fault: a loses its memory", 1, ""},
		{"view 2: b is down (x)\nfault: all are in sync\n" +
			"fault: a loses its memory", 1, ""},
		{"fault: a loses its memory\nfault: b is not in sync", 1, "a b"},
		{"view 3: b is in sync again\nview 2: b is down (x)\n" +
			"fault: a loses its memory", 1, ""},
		{"view 3: b is in sync again\nfault: b loses its memory\n" +
			"view 3: b is in sync again\nfault: a loses its memory", 1, "a b"},
	} {
		if got := strings.Join(BeyondF(story.log, story.m), " "); got != story.beyond {
			t.Errorf("%q with f=%d: %q in place of %q", story.log, story.m, got,
				story.beyond)
		}
	}
}
