package main

import (
	"fmt"
	"math/rand"
	"strconv"
	"strings"
	"sync"
	"time"

	"linear/content"
	"linear/memcache"
)

const (
	clientTimeout = 15 * time.Second
	// Those of eight clients are two packs. Each is asked for so seldom that it
	// is mostly packed, and so often that half of a pack is soon stored anew.
	coldKeys    = 60
	coldPrefix  = "cold:"
	coldPercent = 6
)

// worker is a client with keys of its own, whose values it knows.
type worker struct {
	soak    *soak
	random  *rand.Rand
	conn    *memcache.Conn
	proxy   int // the process that conn is to
	shorts  []*object
	numbers []*object
	longs   []*object
	colds   []*object // short values that are packed
	tag     uint64
	counts  map[string]int // answers, by verb and kind
	errors  map[string]int // errors of servers
}

func newWorker(soak *soak, number int, seed int64) *worker {
	w := &worker{soak: soak, random: rand.New(rand.NewSource(seed)),
		tag: uint64(number) << 40, counts: map[string]int{},
		errors: map[string]int{}}
	prefixes := []string{"plain", "policy", "job", "rep", "rs"}
	for i := 0; i < soak.keys; i++ {
		name := fmt.Sprintf("%s:%d:%d", prefixes[i%len(prefixes)], number, i)
		w.longs = append(w.longs, newObject("long:"+name))
		if i%4 == 0 {
			w.shorts = append(w.shorts, newObject("short:"+name))
			w.numbers = append(w.numbers, newObject("number:"+name))
		}
	}
	for i := 0; i < coldKeys; i++ {
		w.colds = append(w.colds, newObject(fmt.Sprintf("%s%d:%d", coldPrefix,
			number, i)))
	}
	return w
}

func (w *worker) all() []*object {
	return append(append(append(append([]*object{}, w.shorts...), w.numbers...),
		w.longs...), w.colds...)
}

// run works until it is stopped or something is wrong.
func (w *worker) run(workers *sync.WaitGroup) {
	defer workers.Done()
	for begun := 0; !w.soak.stop.Load(); begun++ {
		if !w.connect() {
			return
		}
		ask := w.one
		if begun < len(w.colds) {
			ask = func() error { return w.begin(w.colds[begun]) }
		}
		if err := ask(); err != nil {
			w.soak.wrong(err)
			return
		}
		time.Sleep(time.Duration(w.random.Intn(3000)) * time.Microsecond)
	}
}

// connect has a connection; false where no proxy will come any more.
func (w *worker) connect() bool {
	for w.conn == nil || w.conn.Broken() {
		if w.conn != nil {
			w.conn.Close()
			w.conn = nil
		}
		address, process := w.soak.proxy.Address()
		if address == "" {
			return false
		}
		conn, err := memcache.Dial(address, clientTimeout)
		if err != nil {
			// It was killed a moment ago, and Address does not know yet.
			time.Sleep(time.Millisecond)
			continue
		}
		w.conn, w.proxy = conn, process
	}
	return true
}

// Changes that are counted: by the plainest commands.
var changes = map[string]bool{"set": true, "cas": true, "update": true,
	"append": true, "delete": true, "transition": true}

func (w *worker) count(verb string, reply memcache.Reply) {
	w.counts[verb+" "+reply.Kind.String()]++
	if changes[verb] && reply.Kind == memcache.Done {
		w.soak.changes.Add(1)
	}
	if strings.HasPrefix(reply.Text, "SERVER_ERROR") {
		w.errors[verb+": "+reply.Text]++
	}
}

func (w *worker) one() error {
	switch kind := w.random.Intn(100); {
	case kind < 20:
		return w.short(w.shorts[w.random.Intn(len(w.shorts))])
	case kind < 30:
		return w.number(w.numbers[w.random.Intn(len(w.numbers))])
	case kind < 30+coldPercent:
		return w.cold(w.colds[w.random.Intn(len(w.colds))])
	default:
		return w.long(w.longs[w.random.Intn(len(w.longs))])
	}
}

// Does a change and checks its answer.
func (w *worker) change(object *object, verb string, effect change,
	reply memcache.Reply) error {
	w.count(verb, reply)
	object.note(w.proxy, verb, reply)
	object.cut = object.cut || reply.Kind == memcache.Unknown
	if reply.Kind == memcache.Unknown && (verb == "transition" || verb == "touch") {
		return nil // the value is the same either way
	}
	kind := reply.Kind
	if verb == "touch" && kind == memcache.Done {
		kind = memcache.AlreadyThere // where it has that very end
	}
	if err := object.changed(effect, kind, w.proxy); err != nil {
		return fmt.Errorf("%s: %w (%s)%s", verb, err, reply.Text, object.tale())
	}
	return nil
}

func always(value string) change {
	return func(held) (held, memcache.Kind) {
		return held{true, value}, memcache.Done
	}
}

func ifThere(otherwise memcache.Kind, then func(string) string) change {
	return func(h held) (held, memcache.Kind) {
		if !h.there {
			return h, otherwise
		}
		return held{true, then(h.value)}, memcache.Done
	}
}

func same(value string) string { return value }

func ifAbsent(value string) change {
	return func(h held) (held, memcache.Kind) {
		if h.there {
			return h, memcache.NotStored
		}
		return held{true, value}, memcache.Done
	}
}

func remove(h held) (held, memcache.Kind) {
	if !h.there {
		return h, memcache.Absent
	}
	return held{}, memcache.Done
}

func (w *worker) delete(object *object) error {
	return w.change(object, "delete", remove, w.conn.Delete(object.key))
}

func (w *worker) touch(object *object) error {
	return w.change(object, "touch", ifThere(memcache.Absent, same),
		w.conn.Touch(object.key, 86400))
}

// Reads a key, and checks that its value is one that it may have.
func (w *worker) read(object *object, verb string, isLong bool) (
	memcache.Reply, error) {
	reply := w.conn.Get(verb, object.key)
	w.count(strings.Fields(verb)[0], reply)
	object.note(w.proxy, verb, reply)
	shown := held{}
	switch reply.Kind {
	case memcache.Done:
		shown = held{true, string(reply.Value)}
		if isLong {
			d, err := content.Describe(reply.Value)
			if err != nil {
				return reply, fmt.Errorf("%s: %w", object.key, err)
			}
			shown.value = d.String()
		}
	case memcache.Absent:
	default:
		return reply, nil
	}
	if err := object.holds(shown); err != nil {
		return reply, fmt.Errorf("%w%s", err, object.tale())
	}
	return reply, nil
}

func (w *worker) short(object *object) error {
	w.tag++
	word := fmt.Sprintf("%d,", w.tag)
	store := func(verb string, effect change) error {
		return w.change(object, verb, effect,
			w.conn.Store(verb, object.key, []byte(word), 0))
	}
	value, sure := object.sure()
	if object.tired() || sure && len(value.value) > 500 {
		return store("set", always(word))
	}
	meta := func(line string, effect change) error {
		return w.change(object, line[:2], effect, w.conn.Meta(
			fmt.Sprintf("%s %s %d", line[:2], object.key, len(word))+line[2:],
			[]byte(word)))
	}
	switch w.random.Intn(12) {
	case 0:
		return store("add", ifAbsent(word))
	case 1:
		return store("replace", ifThere(memcache.NotStored,
			func(string) string { return word }))
	case 2:
		return store("append", ifThere(memcache.NotStored,
			func(value string) string { return value + word }))
	case 3:
		return store("prepend", ifThere(memcache.NotStored,
			func(value string) string { return word + value }))
	case 4:
		return meta("ms T3600", always(word))
	case 5:
		return meta("ms MA", ifThere(memcache.NotStored,
			func(value string) string { return value + word }))
	case 6:
		return w.change(object, "md", remove,
			w.conn.Meta("md "+object.key, nil))
	case 7:
		return w.touch(object)
	case 8:
		return store("set", always(word))
	default:
		_, err := w.read(object, w.verb(), false)
		return err
	}
}

func (w *worker) verb() string {
	return []string{"get", "gets", "gat 86400"}[w.random.Intn(3)]
}

func (w *worker) number(object *object) error {
	by := uint64(w.random.Intn(1000))
	count := func(value string) string {
		number, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		if err != nil {
			return "no number: " + value
		}
		return strconv.FormatUint(number+by, 10)
	}
	if object.tired() {
		return w.change(object, "set", always("0"),
			w.conn.Store("set", object.key, []byte("0"), 0))
	}
	switch w.random.Intn(5) {
	case 0:
		return w.change(object, "add", ifAbsent("5"),
			w.conn.Store("add", object.key, []byte("5"), 0))
	case 1:
		return w.change(object, "ma", ifThere(memcache.Absent, count),
			w.conn.Meta(fmt.Sprintf("ma %s D%d", object.key, by), nil))
	case 2:
		_, err := w.read(object, w.verb(), false)
		return err
	default:
		return w.change(object, "incr", ifThere(memcache.Absent, count),
			w.conn.Command(fmt.Sprintf("incr %s %d", object.key, by), nil))
	}
}

// Mostly short, at times several groups.
func (w *worker) size() int {
	most := []int{4 << 10, 4 << 10, 32 << 10, 32 << 10, 200 << 10, 200 << 10,
		1 << 20, 3 << 20}
	size := 100 + w.random.Intn(most[w.random.Intn(len(most))])
	if w.random.Intn(40) == 0 {
		size = 8<<20 + w.random.Intn(3<<20) // more than a group
	}
	return size / content.CellBytes * content.CellBytes
}

func described(text string) content.Description {
	d, err := content.Parse(text)
	if err != nil {
		panic(err)
	}
	return d
}

func (w *worker) long(object *object) error {
	w.tag++
	tag, size := w.tag, w.size()
	whole := w.storing(object, tag, size)
	written := content.Whole(tag, size).String()
	if object.tired() {
		return whole("set", 0, always(written))
	}
	switch kind := w.random.Intn(20); {
	case kind < 4:
		return whole("set", 0, always(written))
	case kind == 4:
		return whole("add", 0, ifAbsent(written))
	case kind == 5:
		return whole("replace", 0, ifThere(memcache.NotStored,
			func(string) string { return written }))
	case kind < 8:
		return w.cas(object, func(token uint64, effect change) error {
			return whole("cas", token, effect)
		}, written)
	case kind < 10:
		return w.update(object, tag)
	case kind == 10:
		return w.append(object, tag)
	case kind == 11:
		return w.delete(object)
	case kind == 12:
		return w.touch(object)
	case kind < 15:
		to := w.soak.shape.targets
		return w.change(object, "transition", ifThere(memcache.Absent, same),
			w.conn.Transition(object.key, to[w.random.Intn(len(to))]))
	default:
		_, err := w.read(object, w.verb(), true)
		return err
	}
}

// Stores a value of that tag and size under the object's key.
func (w *worker) storing(object *object, tag uint64,
	size int) func(string, uint64, change) error {
	return func(verb string, token uint64, effect change) error {
		return w.change(object, verb, effect, w.conn.Store(verb, object.key,
			content.Make(tag, size), token))
	}
}

// Of these a pack has a lot.
func (w *worker) coldSize() int {
	return (800 + w.random.Intn(400)) / content.CellBytes * content.CellBytes
}

func (w *worker) begin(object *object) error {
	w.tag++
	size := w.coldSize()
	return w.storing(object, w.tag, size)("set", 0,
		always(content.Whole(w.tag, size).String()))
}

// A value that is packed, or will be. Of one scheme and width, as those in one
// pack are.
func (w *worker) cold(object *object) error {
	w.tag++
	tag, size := w.tag, w.coldSize()
	whole := w.storing(object, tag, size)
	written := content.Whole(tag, size).String()
	if object.tired() {
		return whole("set", 0, always(written))
	}
	switch w.random.Intn(10) {
	case 0:
		return whole("set", 0, always(written))
	case 1:
		return whole("add", 0, ifAbsent(written))
	case 2:
		return w.cas(object, func(token uint64, effect change) error {
			return whole("cas", token, effect)
		}, written)
	case 3:
		return w.update(object, tag)
	case 4:
		return w.touch(object)
	case 5:
		if w.random.Intn(4) == 0 {
			return w.delete(object)
		}
		fallthrough
	default:
		_, err := w.read(object, w.verb(), true)
		return err
	}
}

func (w *worker) cas(object *object, store func(uint64, change) error,
	written string) error {
	reply, err := w.read(object, "gets", true)
	if err != nil || reply.Kind != memcache.Done || w.conn.Broken() {
		return err
	}
	d, err := content.Describe(reply.Value)
	if err != nil {
		return err
	}
	read := d.String()
	return store(reply.Cas, func(h held) (held, memcache.Kind) {
		switch {
		case !h.there:
			return h, memcache.Absent
		case h.value != read:
			return h, memcache.Exists
		}
		return held{true, written}, memcache.Done
	})
}

func (w *worker) update(object *object, tag uint64) error {
	value, sure := object.sure()
	if !sure || !value.there {
		_, err := w.read(object, "get", true)
		return err
	}
	cells := described(value.value).Cells()
	first := w.random.Intn(cells)
	count := 1 + w.random.Intn(cells-first)
	if w.random.Intn(4) > 0 && count > 64 {
		count = 1 + w.random.Intn(64)
	}
	patch := content.MakePatch(tag, first, count*content.CellBytes)
	effect := ifThere(memcache.Absent, func(text string) string {
		return described(text).Patched(tag, first, count).String()
	})
	return w.change(object, "update", effect,
		w.conn.Update(object.key, first*content.CellBytes, patch))
}

func (w *worker) append(object *object, tag uint64) error {
	value, sure := object.sure()
	if !sure || !value.there {
		_, err := w.read(object, "get", true)
		return err
	}
	before := described(value.value)
	cells := 1 + w.random.Intn(4000)
	if before.Cells()+cells > 12<<20/content.CellBytes {
		return w.delete(object)
	}
	part := content.MakePatch(tag, before.Cells(), cells*content.CellBytes)
	effect := ifThere(memcache.NotStored, func(text string) string {
		return described(text).Extended(tag, cells).String()
	})
	return w.change(object, "append", effect,
		w.conn.Store("append", object.key, part, 0))
}

// Reads every key in the end; each must be readable and right.
func (w *worker) readBack() (int, error) {
	long := map[*object]bool{}
	for _, object := range append(append([]*object{}, w.longs...), w.colds...) {
		long[object] = true
	}
	there := 0
	for _, object := range w.all() {
		if !w.connect() {
			return there, fmt.Errorf("there is no proxy")
		}
		reply, err := w.read(object, "get", long[object])
		if err != nil {
			return there, err
		}
		switch reply.Kind {
		case memcache.Done:
			there++
		case memcache.Absent:
		default:
			return there, fmt.Errorf("%s cannot be read in the end: %s", object.key,
				reply.Text)
		}
	}
	return there, nil
}

// How many of its values are in packs.
func (w *worker) packed() (int, error) {
	packed := 0
	for _, object := range w.colds {
		if !w.connect() {
			return packed, fmt.Errorf("there is no proxy")
		}
		in, reply := w.conn.InPack(object.key)
		if reply.Kind != memcache.Done && reply.Kind != memcache.Absent {
			return packed, fmt.Errorf("stat of %s fails in the end: %s", object.key,
				reply.Text)
		}
		if in {
			packed++
		}
	}
	return packed, nil
}
