package cluster

import (
	"strconv"
	"testing"
	"time"
)

func TestItemsOfADump(t *testing.T) {
	soon := time.Now().Unix() + 100
	for _, story := range []struct {
		line         string
		key          string
		block, lasts bool
	}{
		{"key=ers%21bAbC.12.3 exp=-1 la=1 cas=2 fetch=no cls=1 size=70",
			"ers!bAbC.12.3", true, true},
		{"key=a%20b exp=" + strconv.FormatInt(soon, 10) + " la=1 cas=2", "a b", false, false},
		{"key=ers%21boot exp=" + strconv.FormatInt(soon+1000, 10) + " la=1", "ers!boot", false,
			true},
	} {
		item, err := parseItem(story.line)
		if err != nil || item.Key != story.key || item.IsBlock() != story.block ||
			item.Lasts() != story.lasts {
			t.Errorf("%q: %+v %v", story.line, item, err)
		}
	}
	if _, err := parseItem("ERROR"); err == nil {
		t.Error("an error passes for an item")
	}
}
