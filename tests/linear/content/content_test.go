package content

import "testing"

func TestBytesAndDescriptionAgree(t *testing.T) {
	for _, size := range []int{0, 1, 7, 15, 16, 17, 31, 32, 33, 100, 4096, 5001} {
		value := Make(7, size)
		if len(value) != size {
			t.Fatalf("%d bytes in place of %d", len(value), size)
		}
		want := Whole(7, size)
		if want.Bytes() != size {
			t.Errorf("%v has %d bytes, not %d", want, want.Bytes(), size)
		}
		for first := 0; first < want.Cells(); first += 3 {
			for _, count := range []int{1, 2, want.Cells() - first} {
				if first+count > want.Cells() {
					continue
				}
				patched := append([]byte(nil), value...)
				copy(patched[first*CellBytes:],
					MakePatch(9, first, count*CellBytes))
				// And once more, across the edge of the first patch.
				copy(patched[first/2*CellBytes:], MakePatch(11, first/2, CellBytes))
				got, err := Describe(patched)
				wanted := want.Patched(9, first, count).Patched(11, first/2, 1)
				if err != nil || got.String() != wanted.String() {
					t.Errorf("size %d, %d cells from %d: %v (%v) in place of %v",
						size, count, first, got, err, wanted)
				}
				parsed, err := Parse(got.String())
				if err != nil || parsed.String() != got.String() ||
					parsed.Tail != got.Tail {
					t.Errorf("%v was read as %v (%v)", got, parsed, err)
				}
				for _, tag := range got.Tags() {
					if tag != 7 && tag != 9 && tag != 11 {
						t.Errorf("wrong tag %d in %v", tag, got)
					}
				}
			}
		}
	}
}

func TestForeignAndMovedBytesAreSeen(t *testing.T) {
	value := Make(7, 100)
	value[50] ^= 1
	if _, err := Describe(value); err == nil {
		t.Error("a flipped bit passes")
	}
	value = Make(7, 160)
	copy(value[16:32], value[32:48])
	if _, err := Describe(value); err == nil {
		t.Error("a cell in another's place passes")
	}
	if Whole(7, 101).String() == Whole(7, 102).String() {
		t.Error("other lengths have the same description")
	}
}
