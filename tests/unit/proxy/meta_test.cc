#include <catch2/catch.hpp>

#include "unit/proxy/transcript.h"

namespace ers::proxy {
namespace {

struct Case {
  std::string_view bytes;
  std::string_view transcript;
};

void Check(std::initializer_list<Case> cases) {
  for (const Case& c : cases) {
    CAPTURE(c.bytes);
    CHECK(TranscriptOf(c.bytes) == c.transcript);
  }
}

TEST_CASE("mg with each of its flags") {
  Check({
      {"mg a\r\n", "get key=a meta"},
      {"mg a v\r\n", "get key=a want-value meta"},
      {"mg a vxyz\r\n", "get key=a want-value meta"},
      {"mg a t s O1x l k h f c\r\n",
       "get key=a meta return=tsOlkhfc opaque=1x"},
      {"mg a O\r\n", "get key=a meta return=O"},
      {"mg a O1234567890123456789012345678901\r\n",
       "get key=a meta return=O opaque=1234567890123456789012345678901"},
      {"mg a q u\r\n", "get key=a no-bump meta quiet"},
      {"mg a N30 R60 T-1\r\n",
       "get key=a exptime=-1 vivify=30 recache=60 meta"},
      {"mg a E7\r\n", "get key=a new-cas=7 meta"},
      {"mg Zm9v b k\r\n", "get key=foo meta return=k base64"},
      {"mg AAEg b\r\n", "get key=\\x00\\x01  meta base64"},
      {"mg Zg== b\r\n", "get key=f meta base64"},
      {"mg Zm8= b\r\n", "get key=fo meta base64"},
      {"mg a P Lsome/where\r\n", "get key=a meta"},
      // Known, though of other commands.
      {"mg a J1 D2 C3 F4 MZ I\r\n", "get key=a flags=4 delta=2 initial=1 meta"},
      {"mg a c f h k l O1 q s t u v N0 R0 T0 P L\r\n",
       "get key=a exptime=0 vivify=0 recache=0 want-value no-bump meta quiet "
       "return=cfhklOst opaque=1"},
  });
}

TEST_CASE("ms with each of its flags and modes") {
  Check({
      {"ms a 2\r\nxy\r\n", "store key=a bytes=2 mode=set meta\nvalue:xy\nend"},
      {"ms a 0\r\n\r\n", "store key=a bytes=0 mode=set meta\nend"},
      {"ms a 1 T30 F5 k O1 c q\r\nx\r\n",
       "store key=a bytes=1 mode=set flags=5 exptime=30 meta quiet return=kOc "
       "opaque=1\nvalue:x\nend"},
      {"ms a 1 MS\r\nx\r\n", "store key=a bytes=1 mode=set meta\nvalue:x\nend"},
      {"ms a 1 ME\r\nx\r\n", "store key=a bytes=1 mode=add meta\nvalue:x\nend"},
      {"ms a 1 MR\r\nx\r\n",
       "store key=a bytes=1 mode=replace meta\nvalue:x\nend"},
      {"ms a 1 MA\r\nx\r\n",
       "store key=a bytes=1 mode=append meta\nvalue:x\nend"},
      {"ms a 1 MP\r\nx\r\n",
       "store key=a bytes=1 mode=prepend meta\nvalue:x\nend"},
      {"ms a 1 E9\r\nx\r\n",
       "store key=a bytes=1 mode=set new-cas=9 meta\nvalue:x\nend"},
      {"ms Zm9v 1 b k\r\nx\r\n",
       "store key=foo bytes=1 mode=set meta return=k base64\nvalue:x\nend"},
      // Of other commands.
      {"ms a 1 v N30 R30 s t\r\nx\r\n",
       "store key=a bytes=1 mode=set meta return=st\nvalue:x\nend"},
  });
}

TEST_CASE("what a CAS means to ms depends on the mode, as in memcached") {
  Check({
      {"ms a 1 C7\r\nx\r\n",
       "store key=a bytes=1 mode=set cas=7 meta\nvalue:x\nend"},
      {"ms a 1 C0\r\nx\r\n",
       "store key=a bytes=1 mode=set cas=0 meta\nvalue:x\nend"},
      {"ms a 1 C7 I\r\nx\r\n",
       "store key=a bytes=1 mode=set cas=7 invalidate meta\nvalue:x\nend"},
      {"ms a 1 I\r\nx\r\n", "store key=a bytes=1 mode=set meta\nvalue:x\nend"},
      {"ms a 1 MR C7 I\r\nx\r\n",
       "store key=a bytes=1 mode=set cas=7 invalidate meta\nvalue:x\nend"},
      {"ms a 1 ME C7 I\r\nx\r\n",
       "store key=a bytes=1 mode=add meta\nvalue:x\nend"},
      {"ms a 1 MA C7\r\nx\r\n",
       "store key=a bytes=1 mode=append cas=7 meta\nvalue:x\nend"},
      {"ms a 1 MP C0\r\nx\r\n",
       "store key=a bytes=1 mode=prepend meta\nvalue:x\nend"},
  });
}

TEST_CASE("ms reports a bad value also when quiet") {
  Check({
      {"ms a 3 q\r\nabcdef\r\nmn\r\n",
       "store key=a bytes=3 mode=set meta quiet\nvalue:abc\n"
       "bad:CLIENT_ERROR bad data chunk|\nerror:ERROR|\nnoop meta"},
  });
}

TEST_CASE("md, ma, me and mn") {
  Check({
      {"md a\r\n", "delete key=a meta"},
      {"md a q k O1 C5\r\n",
       "delete key=a cas=5 meta quiet return=kO opaque=1"},
      {"md a C0\r\n", "delete key=a cas=0 meta"},
      {"md a I T30\r\n", "delete key=a exptime=30 invalidate meta"},
      {"md a T30 v N1 R1\r\n", "delete key=a meta"},
      {"md a I E6\r\n", "delete key=a new-cas=6 invalidate meta"},
      {"md Zm9v b\r\n", "delete key=foo meta base64"},
      {"ma a\r\n", "arithmetic key=a meta"},
      {"ma a N30 J5 D3 T60 v t c k O1 q\r\n",
       "arithmetic key=a exptime=60 vivify=30 want-value delta=3 initial=5 "
       "meta quiet return=tckO opaque=1"},
      {"ma a MI\r\n", "arithmetic key=a meta"},
      {"ma a M+\r\n", "arithmetic key=a meta"},
      {"ma a MD\r\n", "arithmetic key=a decrement meta"},
      {"ma a M-\r\n", "arithmetic key=a decrement meta"},
      {"ma a C5 E6\r\n", "arithmetic key=a cas=5 new-cas=6 meta"},
      {"ma a C0 R1\r\n", "arithmetic key=a meta"},
      {"ma Zm9v b\r\n", "arithmetic key=foo meta base64"},
      {"me a\r\n", "debug key=a meta"},
      {"me Zm9v b\r\n", "debug key=foo meta base64"},
      {"me a x y\r\n", "debug key=a meta"},
      {"mn\r\n", "noop meta"},
      {"mn whatever\r\n", "noop meta"},
  });
}

}  // namespace
}  // namespace ers::proxy
