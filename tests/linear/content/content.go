// Package content makes values that name the writer of each part of them.
//
// A value is cells of 16 bytes, each with the tag of the write that it is of
// and its place, and the beginning of one more cell. Its description names the
// tags and how many cells each has: two values have the same description only
// if they have the same bytes.
package content

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// CellBytes is the length of a cell.
const CellBytes = 16

func putCell(cell []byte, tag uint64, index int) {
	binary.BigEndian.PutUint64(cell, tag)
	binary.BigEndian.PutUint64(cell[8:], uint64(index)*0x9e3779b97f4a7c15^tag)
}

// Run is cells one after the other that have the same tag.
type Run struct {
	Tag   uint64
	Cells int
}

// Description says what the bytes of a value are.
type Description struct {
	Runs []Run
	Tail string // the bytes behind the last whole cell
}

// Whole describes a value of size bytes that one write made.
func Whole(tag uint64, size int) Description {
	d := Description{}
	if cells := size / CellBytes; cells > 0 {
		d.Runs = []Run{{tag, cells}}
	}
	var cell [CellBytes]byte
	putCell(cell[:], tag, size/CellBytes)
	d.Tail = string(cell[:size%CellBytes])
	return d
}

// Cells says how many whole ones there are.
func (d Description) Cells() int {
	cells := 0
	for _, run := range d.Runs {
		cells += run.Cells
	}
	return cells
}

// Bytes says how long the value is.
func (d Description) Bytes() int { return d.Cells()*CellBytes + len(d.Tail) }

// Tags returns those of all cells, some more than once.
func (d Description) Tags() []uint64 {
	tags := []uint64{}
	for _, run := range d.Runs {
		tags = append(tags, run.Tag)
	}
	if len(d.Tail) >= 8 {
		tags = append(tags, binary.BigEndian.Uint64([]byte(d.Tail)))
	}
	return tags
}

// Patched describes what an overwrite of count cells from the cell first on
// leaves. All of them must be in the value.
func (d Description) Patched(tag uint64, first, count int) Description {
	patched := Description{Tail: d.Tail}
	add := func(tag uint64, cells int) {
		last := len(patched.Runs) - 1
		if cells <= 0 {
			return
		}
		if last >= 0 && patched.Runs[last].Tag == tag {
			patched.Runs[last].Cells += cells
			return
		}
		patched.Runs = append(patched.Runs, Run{tag, cells})
	}
	at, done := 0, false
	for _, run := range d.Runs {
		end := at + run.Cells
		add(run.Tag, smaller(end, first)-at)
		if !done && end > first {
			add(tag, count)
			done = true
		}
		add(run.Tag, end-larger(at, first+count))
		at = end
	}
	return patched
}

// Extended describes a value of whole cells with more of them behind it.
func (d Description) Extended(tag uint64, cells int) Description {
	runs := append([]Run(nil), d.Runs...)
	return Description{Runs: append(runs, Run{tag, cells}), Tail: d.Tail}
}

// String is one word, the same only for the same bytes.
func (d Description) String() string {
	words := make([]string, 0, len(d.Runs)+1)
	for _, run := range d.Runs {
		words = append(words, fmt.Sprintf("%dx%d", run.Tag, run.Cells))
	}
	return strings.Join(append(words, fmt.Sprintf("%x", d.Tail)), "+")
}

// Parse reads what String wrote.
func Parse(text string) (Description, error) {
	words := strings.Split(text, "+")
	d := Description{}
	for _, word := range words[:len(words)-1] {
		var run Run
		if _, err := fmt.Sscanf(word, "%dx%d", &run.Tag, &run.Cells); err != nil {
			return d, fmt.Errorf("%q describes no value: %v", text, err)
		}
		d.Runs = append(d.Runs, run)
	}
	tail := words[len(words)-1]
	for i := 0; i+1 < len(tail); i += 2 {
		b, err := strconv.ParseUint(tail[i:i+2], 16, 8)
		if err != nil {
			return d, err
		}
		d.Tail += string([]byte{byte(b)})
	}
	return d, nil
}

// Make writes a value of size bytes.
func Make(tag uint64, size int) []byte { return MakePatch(tag, 0, size) }

// MakePatch writes size bytes for an overwrite from the cell first on.
func MakePatch(tag uint64, first, size int) []byte {
	value := make([]byte, size+CellBytes)
	for i := 0; i*CellBytes < size; i++ {
		putCell(value[i*CellBytes:], tag, first+i)
	}
	return value[:size]
}

// Describe returns what the bytes are, or where they are nothing that any write
// made.
func Describe(value []byte) (Description, error) {
	d := Description{}
	cells := len(value) / CellBytes
	var want [CellBytes]byte
	for i := 0; i < cells; i++ {
		cell := value[i*CellBytes : (i+1)*CellBytes]
		tag := binary.BigEndian.Uint64(cell)
		putCell(want[:], tag, i)
		if !bytes.Equal(cell, want[:]) {
			return d, fmt.Errorf("bytes %d to %d of %d are of no write: %x",
				i*CellBytes, (i+1)*CellBytes, len(value), cell)
		}
		last := len(d.Runs) - 1
		if last >= 0 && d.Runs[last].Tag == tag {
			d.Runs[last].Cells++
		} else {
			d.Runs = append(d.Runs, Run{tag, 1})
		}
	}
	d.Tail = string(value[cells*CellBytes:])
	return d, nil
}

func smaller(a, b int) int {
	if a < b {
		return a
	}
	return b
}

func larger(a, b int) int {
	if a > b {
		return a
	}
	return b
}
