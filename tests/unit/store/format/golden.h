// The examples of docs/reference/format.md: the bytes there and these are the
// same.
#ifndef ERS_TESTS_UNIT_STORE_FORMAT_GOLDEN_H_
#define ERS_TESTS_UNIT_STORE_FORMAT_GOLDEN_H_

#include <string>
#include <string_view>

#include "store/format/manifest.h"
#include "store/format/view.h"

namespace ers::test {

inline std::string FromHex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  }
  return bytes;
}

inline std::string ToHex(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    hex.push_back("0123456789abcdef"[value >> 4]);
    hex.push_back("0123456789abcdef"[value & 15]);
  }
  return hex;
}

inline constexpr store::ChangeId kId{0x0001020304050607, 0x08090a0b0c0d0e0f};
inline constexpr store::ChangeId kOldId{0x0001020304049617, 0x08191a1b1c1d1e1f};

inline constexpr std::string_view kTombstoneHex =
    "6552530401020028272625242322070605040302010f0e0d0c0b8a922001dfbf"
    "031c1bd00f3d8c4643";
inline constexpr std::string_view kInlineHex =
    "6552530402020028272625242322070605040302010f0e0d0c0b8a9220000101"
    "010107d00f01a23868656c6c6ff26aca2f";
inline constexpr std::string_view kPackedHex =
    "6552530500020028272625242322070605040302010f0e0d0c0b8a9220000101"
    "010107d00f01a23805ac02dfbf031f1e1d1c1b9ab22091ae9337";
inline constexpr std::string_view kHashedHex =
    "6552530482020028272625242322070605040302010f0e0d0c0b8a9220000965"
    "727321736d616c6c0101010107d00f0068656c6c6fde4c275a";
inline constexpr std::string_view kCodedHex =
    "6552530400020028272625242322070605040302010f0e0d0c0b8a922001dfbf"
    "031c1b1502010307d00f01a2380a808040040403000102030002179604040302"
    "011f1e1d1c1b9ab220020101020200010100e3c0dc33";
inline constexpr std::string_view kColumnsHex =
    "6552530410020028272625242322070605040302010f0e0d0c0b8a9220001502"
    "010307d00f01a2380a80804004040300010201000101000113e3677a";
inline constexpr std::string_view kBlockHex = "655262020cce8571";
inline constexpr std::string_view kViewText =
    R"({"crc32c":725617280,"epoch":3,"flushed_before":0,"format":6,)"
    R"("max_failures":1,"members":[{"boot_mark":"12/34/ab","id":0,")"
    R"(incarnation":1700000000000000,"joined":0,"name":"10.0.0.1:11)"
    R"(211","since":1700000000,"state":"in_sync","weight":1},{"boot)"
    R"(_mark":"56/78/cd","id":1,"incarnation":1700000000000000,"joi)"
    R"(ned":0,"name":"10.0.0.2:11211","since":1700000100,"state":"d)"
    R"(own","weight":2}]})";

inline store::Manifest Copy(std::string key) {
  store::Manifest manifest;
  manifest.member = 2;
  manifest.incarnation = 0x22232425262728;
  manifest.id = kId;
  manifest.key = std::move(key);
  return manifest;
}

inline store::Manifest TombstoneExample() {
  store::Manifest manifest = Copy("gone");
  manifest.history = {kOldId.tag()};
  manifest.tombstone = true;
  manifest.cas = kId.time_us + 1000;
  return manifest;
}

inline store::Manifest InlineExample() {
  store::Manifest manifest = Copy("small");
  manifest.scheme = {SchemeKind::kRep, 1, 1, 1};
  manifest.client_flags = 7;
  manifest.length = 5;
  manifest.cas = kId.time_us + 1000;
  manifest.expiry = 283686953 + 3600;
  manifest.is_inline = true;
  manifest.value = "hello";
  return manifest;
}

// At 300 in the pack of an earlier change.
inline store::Manifest PackedExample() {
  store::Manifest manifest = InlineExample();
  manifest.key = "cold";
  manifest.value.clear();
  manifest.pack = kOldId;
  manifest.pack_offset = 300;
  return manifest;
}

inline store::Manifest CodedExample() {
  store::Manifest manifest = Copy("movie");
  manifest.history = {kOldId.tag()};
  manifest.scheme = {SchemeKind::kErs2, 2, 1, 3};
  manifest.width = Width::kWide;
  manifest.client_flags = 7;
  manifest.length = 10;
  manifest.cas = kId.time_us + 1000;
  manifest.expiry = 283686953 + 3600;
  manifest.group_bytes = 1 << 20;
  manifest.nodes = {3, 0, 1, 2};
  manifest.ring = 4;
  manifest.data = store::GenerationMap(6, kOldId);
  manifest.data.Set(2, kId);
  manifest.parity = store::GenerationMap(2, kId);
  manifest.parity.Set(1, {});
  return manifest;
}

// The same view; the second server has taken the place of 10.0.0.2:11211.
inline constexpr std::string_view kReplacedViewText =
    R"({"crc32c":2510281608,"epoch":3,"flushed_before":0,"format":6)"
    R"(,"max_failures":1,"members":[{"boot_mark":"12/34/ab","id":0,)"
    R"("incarnation":1700000000000000,"joined":0,"name":"10.0.0.1:1)"
    R"(1211","since":1700000000,"state":"in_sync","weight":1},{"add)"
    R"(ress":"10.0.0.9:11211","boot_mark":"56/78/cd","id":1,"incarn)"
    R"(ation":1700000000000000,"joined":0,"name":"10.0.0.2:11211",")"
    R"(since":1700000100,"state":"down","weight":2}]})";

// Of a cluster that came from another proxy.
inline constexpr std::string_view kPlacedViewText =
    R"({"crc32c":3410974395,"epoch":3,"flushed_before":0,"format":7)"
    R"(,"max_failures":1,"members":[{"boot_mark":"12/34/ab","id":0,)"
    R"("incarnation":1700000000000000,"joined":0,"name":"10.0.0.1:1)"
    R"(1211","position":1,"since":1700000000,"state":"in_sync","wei)"
    R"(ght":1},{"boot_mark":"56/78/cd","id":1,"incarnation":1700000)"
    R"(000000000,"joined":0,"label":"old-name","name":"10.0.0.2:112)"
    R"(11","position":0,"since":1700000100,"state":"down","weight":)"
    R"(2}],"placement":{"distribution":"modula","hash":"fnv1a_64",")"
    R"(hash_tag":"{}"}})";

inline store::View ViewExample() {
  store::View view;
  view.epoch = 3;
  view.members.resize(2);
  view.members[0] = {"10.0.0.1:11211",
                     1,
                     1700000000000000,
                     MemberState::kInSync,
                     0,
                     "12/34/ab",
                     1700000000,
                     "",
                     "",
                     false,
                     ""};
  view.members[1] = {"10.0.0.2:11211",
                     2,
                     1700000000000000,
                     MemberState::kDown,
                     0,
                     "56/78/cd",
                     1700000100,
                     "",
                     "",
                     false,
                     ""};
  return view;
}

// Its key may not be the item's.
inline store::Manifest HashedExample() {
  store::Manifest manifest = InlineExample();
  manifest.key = "ers!small";
  manifest.expiry = 0;
  return manifest;
}

inline store::Manifest ColumnsExample() {
  store::Manifest manifest = CodedExample();
  manifest.history.clear();
  manifest.unit = Unit::kColumns;
  manifest.data = store::GenerationMap(3, kId);
  manifest.parity = store::GenerationMap(1, kId);
  return manifest;
}

}  // namespace ers::test

#endif  // ERS_TESTS_UNIT_STORE_FORMAT_GOLDEN_H_
