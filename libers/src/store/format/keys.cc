#include "store/format/keys.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "ers/options.h"

namespace ers::store {
namespace {

// RFC 4648 section 5, without padding: 16 bytes become 22 characters.
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t kEncodedBytes = 22;
constexpr std::size_t kBlockKeyBytes = 67;  // the longest

void AppendBase64Url(std::uint64_t high, std::uint64_t low, std::string& out) {
  // Ten digits of each, and the two that have the last bits of both: of every
  // block that is stored, so without a branch in a digit.
  constexpr std::size_t kOfHigh = 10;
  std::array<char, kEncodedBytes> text;
  for (std::size_t i = 0; i < kOfHigh; ++i) {
    text[i] = kAlphabet[high >> (58 - 6 * i) & 63];
  }
  text[kOfHigh] = kAlphabet[(high << 2 | low >> 62) & 63];
  for (std::size_t i = kOfHigh + 1; i < kEncodedBytes - 1; ++i) {
    text[i] = kAlphabet[low >> (56 - 6 * (i - kOfHigh - 1)) & 63];
  }
  text[kEncodedBytes - 1] = kAlphabet[low << 4 & 63];
  out.append(text.data(), text.size());
}

struct Pair {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

// Any 22 of its characters; the spare bits of the last are not checked.
std::optional<Pair> ParseBase64Url(std::string_view text) {
  if (text.size() != kEncodedBytes) return std::nullopt;
  Pair out;
  for (std::size_t i = 0; i < kEncodedBytes; ++i) {
    const std::size_t digit = kAlphabet.find(text[i]);
    if (digit == kAlphabet.npos) return std::nullopt;
    const bool last = i + 1 == kEncodedBytes;
    const int bits = last ? 2 : 6;
    out.high = (out.high << bits) | (out.low >> (64 - bits));
    out.low = (out.low << bits) | (last ? digit >> 4 : digit);
  }
  return out;
}

// No byte that memcached's text protocol could not carry.
bool IsPlain(std::string_view key) {
  return std::none_of(key.begin(), key.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= 0x20 || byte == 0x7f;
  });
}

}  // namespace

KeyHash HashKey(std::string_view key) {
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  return {hash.high64, hash.low64};
}

Status ValidateKey(std::string_view key, bool any_bytes) {
  if (key.empty()) {
    return {StatusCode::kInvalidArgument,
            "the key is empty: give it 1 to 250 bytes"};
  }
  if (key.size() > kMaxKeyBytes) {
    return {StatusCode::kInvalidArgument,
            fmt::format("the key has {} bytes: at most {} are allowed",
                        key.size(), kMaxKeyBytes)};
  }
  for (std::size_t i = 0; i < key.size() && !any_bytes; ++i) {
    const auto byte = static_cast<unsigned char>(key[i]);
    if (!IsPlain(key.substr(i, 1))) {
      return {StatusCode::kInvalidArgument,
              fmt::format("the key's byte {} is {:#04x}: spaces and control "
                          "characters are not allowed",
                          i, byte)};
    }
  }
  return {};
}

bool HasHashedName(std::string_view key) {
  return key.starts_with(kReservedPrefix) || !IsPlain(key);
}

std::string ManifestKey(std::string_view key) {
  if (!HasHashedName(key)) return std::string(key);
  const KeyHash hash = HashKey(key);
  std::string out(kReservedPrefix);
  out.push_back('k');
  AppendBase64Url(hash.high, hash.low, out);
  return out;
}

std::optional<KeyHash> HashOfHashedName(std::string_view item_key) {
  const std::string prefix = std::string(kReservedPrefix) + "k";
  if (!item_key.starts_with(prefix)) return std::nullopt;
  item_key.remove_prefix(prefix.size());
  const std::optional<Pair> hash = ParseBase64Url(item_key);
  if (!hash) return std::nullopt;
  return KeyHash{hash->high, hash->low};
}

std::string BlockKeyBegin(const KeyHash& hash, const ChangeId& generation) {
  std::string out;
  out.reserve(kBlockKeyBytes);
  out.append(kReservedPrefix);
  out.push_back('b');
  AppendBase64Url(hash.high, hash.low, out);
  out.push_back('.');
  AppendBase64Url(generation.time_us, generation.nonce, out);
  out.push_back('.');
  return out;
}

std::string BlockKey(std::string_view begin, std::uint64_t number) {
  std::array<char, 16> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), number, 16)
          .ptr;
  std::string out;
  out.reserve(kBlockKeyBytes);
  out.append(begin);
  out.append(digits.data(), end);
  return out;
}

std::string BlockKey(const KeyHash& hash, const ChangeId& generation,
                     std::uint64_t number) {
  return BlockKey(BlockKeyBegin(hash, generation), number);
}

std::optional<BlockName> ParseBlockKey(std::string_view item_key) {
  const std::string prefix = std::string(kReservedPrefix) + "b";
  constexpr std::size_t kHashAndGeneration = 2 * (kEncodedBytes + 1);
  if (item_key.size() <= prefix.size() + kHashAndGeneration) {
    return std::nullopt;
  }
  const auto hash =
      ParseBase64Url(item_key.substr(prefix.size(), kEncodedBytes));
  const auto generation = ParseBase64Url(
      item_key.substr(prefix.size() + kEncodedBytes + 1, kEncodedBytes));
  if (!hash || !generation) return std::nullopt;
  BlockName name{{hash->high, hash->low}, {generation->high, generation->low}};
  const std::string_view number =
      item_key.substr(prefix.size() + kHashAndGeneration);
  std::from_chars(number.data(), number.data() + number.size(), name.number,
                  16);
  // Only what is written again just so is one: the rest is not the library's.
  if (BlockKey(name.hash, name.generation, name.number) != item_key) {
    return std::nullopt;
  }
  return name;
}

std::string PackKey(const ChangeId& pack) {
  std::string out(kPackPrefix);
  AppendBase64Url(pack.time_us, pack.nonce, out);
  return out;
}

std::optional<ChangeId> PackOfKey(std::string_view key) {
  if (!key.starts_with(kPackPrefix)) return std::nullopt;
  const auto id = ParseBase64Url(key.substr(kPackPrefix.size()));
  if (!id) return std::nullopt;
  const ChangeId pack{id->high, id->low};
  return PackKey(pack) == key ? std::optional(pack) : std::nullopt;
}

std::string EntryKey(std::uint64_t id) {
  return fmt::format("{}{:016x}", kEntryPrefix, id);
}

}  // namespace ers::store
