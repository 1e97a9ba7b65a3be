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
inline constexpr store::ChangeId kOldId{0x1011121314151617, 0x18191a1b1c1d1e1f};

inline constexpr std::string_view kTombstoneHex =
    "6552536d020101040200282726252423222107060504030201000f0e0d0c0b0a"
    "090817161514131211101f1e1d1c1b1a1918676f6e65510000000000000023d9"
    "9a4c";
inline constexpr std::string_view kInlineHex =
    "6552536d020200050200282726252423222107060504030201000f0e0d0c0b0a"
    "0908736d616c6c01010101070000000500000000000000510000000000000061"
    "0000000000000068656c6c6f73c2ad6f";
inline constexpr std::string_view kCodedHex =
    "6552536d020401050200282726252423222107060504030201000f0e0d0c0b0a"
    "090817161514131211101f1e1d1c1b1a19186d6f76696505020103070000000a"
    "0000000000000051000000000000006100000000000000000010000000000004"
    "000400030000000100020006000000030000000000000017161514131211101f"
    "1e1d1c1b1a19180200000007060504030201000f0e0d0c0b0a09080300000017"
    "161514131211101f1e1d1c1b1a19180200000002000000000000000706050403"
    "0201000f0e0d0c0b0a090801000000000000000000000000000000000000004a"
    "47fcf0";
inline constexpr std::string_view kColumnsHex =
    "6552536d032400050200282726252423222107060504030201000f0e0d0c0b0a"
    "09086d6f76696505020103070000000a00000000000000510000000000000061"
    "0000000000000000001000000000000400040003000000010002000300000001"
    "0000000000000007060504030201000f0e0d0c0b0a0908010000000100000000"
    "00000007060504030201000f0e0d0c0b0a090836a923f6";
// The first three as format version 1 wrote them.
inline constexpr std::string_view kTombstoneFirstHex =
    "6552536d01010104020001002827262524232221383736353433323141000000"
    "0000000007060504030201000f0e0d0c0b0a090817161514131211101f1e1d1c"
    "1b1a1918676f6e655100000000000000d58ca239";
inline constexpr std::string_view kInlineFirstHex =
    "6552536d01020005020001002827262524232221383736353433323141000000"
    "0000000007060504030201000f0e0d0c0b0a0908736d616c6c01010101070000"
    "0005000000000000005100000000000000610000000000000068656c6c6f854e"
    "fafa";
inline constexpr std::string_view kCodedFirstHex =
    "6552536d01040105020001002827262524232221383736353433323141000000"
    "0000000007060504030201000f0e0d0c0b0a090817161514131211101f1e1d1c"
    "1b1a19186d6f76696505020103070000000a0000000000000051000000000000"
    "0061000000000000000000100000000000040004000300000001000200060000"
    "00030000000000000017161514131211101f1e1d1c1b1a191802000000070605"
    "04030201000f0e0d0c0b0a09080300000017161514131211101f1e1d1c1b1a19"
    "1802000000020000000000000007060504030201000f0e0d0c0b0a0908010000"
    "0000000000000000000000000000000000f394185f";
inline constexpr std::string_view kBlockHex =
    "655253620100000007060504030201000f0e0d0c0b0a09080c00000000000000"
    "060000007f850871";
inline constexpr std::string_view kViewText =
    R"({"crc32c":4205921942,"epoch":3,"flushed_before":0,"format":1)"
    R"(,"max_parity":1,"members":[{"boot_mark":"12/34/ab","incarnat)"
    R"(ion":1700000000000000,"joined":0,"name":"10.0.0.1:11211","si)"
    R"(nce":1700000000,"state":"full","weight":1},{"boot_mark":"56/)"
    R"(78/cd","incarnation":1700000000000000,"joined":0,"name":"10.)"
    R"(0.0.2:11211","since":1700000100,"state":"down","weight":2}]})";

inline store::Manifest Copy(std::string key) {
  store::Manifest manifest;
  manifest.member = 2;
  manifest.incarnation = 0x2122232425262728;
  manifest.id = kId;
  manifest.key = std::move(key);
  return manifest;
}

inline store::Manifest TombstoneExample() {
  store::Manifest manifest = Copy("gone");
  manifest.history = {kOldId};
  manifest.tombstone = true;
  manifest.cas = 0x51;
  return manifest;
}

inline store::Manifest InlineExample() {
  store::Manifest manifest = Copy("small");
  manifest.scheme = {SchemeKind::kRep, 1, 1, 1};
  manifest.client_flags = 7;
  manifest.length = 5;
  manifest.cas = 0x51;
  manifest.expiry = 0x61;
  manifest.is_inline = true;
  manifest.value = "hello";
  return manifest;
}

inline store::Manifest CodedExample() {
  store::Manifest manifest = Copy("movie");
  manifest.history = {kOldId};
  manifest.scheme = {SchemeKind::kErs2, 2, 1, 3};
  manifest.width = Width::kWide;
  manifest.client_flags = 7;
  manifest.length = 10;
  manifest.cas = 0x51;
  manifest.expiry = 0x61;
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
    R"({"crc32c":624655017,"epoch":3,"flushed_before":0,"format)"
    R"(":2,"max_parity":1,"members":[{"boot_mark":"12/34/ab","i)"
    R"(ncarnation":1700000000000000,"joined":0,"name":"10.0.0.1)"
    R"(:11211","since":1700000000,"state":"full","weight":1},{")"
    R"(address":"10.0.0.9:11211","boot_mark":"56/78/cd","incarn)"
    R"(ation":1700000000000000,"joined":0,"name":"10.0.0.2:1121)"
    R"(1","since":1700000100,"state":"down","weight":2}]})";

inline store::View ViewExample() {
  store::View view;
  view.epoch = 3;
  view.members.resize(2);
  view.members[0] = {"10.0.0.1:11211",     1,  1700000000000000,
                     MemberState::kInSync, 0,  "12/34/ab",
                     1700000000,           "", ""};
  view.members[1] = {"10.0.0.2:11211",   2,  1700000000000000,
                     MemberState::kDown, 0,  "56/78/cd",
                     1700000100,         "", ""};
  return view;
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
