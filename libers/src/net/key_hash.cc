#include "net/key_hash.h"

#include <libhashkit-1.0/hashkit.h>

#include <array>
#include <bit>
#include <cstddef>
#include <utility>

namespace ers::net {
namespace {

constexpr std::pair<KeyHash, std::string_view> kHashNames[] = {
    {KeyHash::kMd5, "md5"},         {KeyHash::kOneAtATime, "one_at_a_time"},
    {KeyHash::kCrc16, "crc16"},     {KeyHash::kCrc32, "crc32"},
    {KeyHash::kCrc32a, "crc32a"},   {KeyHash::kCrc32a31, "crc32a_31"},
    {KeyHash::kFnv1_64, "fnv1_64"}, {KeyHash::kFnv1a_64, "fnv1a_64"},
    {KeyHash::kFnv1_32, "fnv1_32"}, {KeyHash::kFnv1a_32, "fnv1a_32"},
    {KeyHash::kHsieh, "hsieh"},     {KeyHash::kMurmur, "murmur"},
    {KeyHash::kJenkins, "jenkins"},
};

constexpr int kBitsPerByte = 8;
constexpr std::size_t kBytes = 256;

std::uint32_t Byte(std::string_view key, std::size_t at) {
  return static_cast<unsigned char>(key[at]);
}

// Of the polynomial of Ethernet and zip, the lowest bit first.
constexpr std::array<std::uint32_t, kBytes> Crc32Table() {
  std::array<std::uint32_t, kBytes> table{};
  for (std::uint32_t byte = 0; byte < kBytes; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < kBitsPerByte; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320U : 0);
    }
    table[byte] = crc;
  }
  return table;
}

std::uint32_t Crc32(std::string_view key) {
  static constexpr auto kTable = Crc32Table();
  std::uint32_t crc = ~0U;
  for (std::size_t i = 0; i < key.size(); ++i) {
    crc = kTable[(crc ^ Byte(key, i)) & 0xff] ^ (crc >> 8);
  }
  return ~crc;
}

// Of the polynomial of XMODEM, the highest bit first.
constexpr std::array<std::uint16_t, kBytes> Crc16Table() {
  std::array<std::uint16_t, kBytes> table{};
  for (std::uint32_t byte = 0; byte < kBytes; ++byte) {
    std::uint32_t crc = byte << 8;
    for (int bit = 0; bit < kBitsPerByte; ++bit) {
      crc = (crc << 1) ^ ((crc & 0x8000) != 0 ? 0x1021U : 0);
    }
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}

// What is shifted beyond 16 bits stays, as in twemproxy.
std::uint32_t Crc16(std::string_view key) {
  static constexpr auto kTable = Crc16Table();
  std::uint32_t crc = 0;
  for (std::size_t i = 0; i < key.size(); ++i) {
    crc = (crc << 8) ^ kTable[((crc >> 8) ^ Byte(key, i)) & 0xff];
  }
  return crc;
}

// Paul Hsieh's "SuperFastHash", which Debian's libhashkit is built without.
std::uint32_t Hsieh(std::string_view key) {
  const auto word = [key](std::size_t at) {
    return Byte(key, at) | Byte(key, at + 1) << 8;
  };
  std::uint32_t hash = 0;
  std::size_t at = 0;
  for (; at + 4 <= key.size(); at += 4) {
    hash += word(at);
    hash = (hash << 16) ^ ((word(at + 2) << 11) ^ hash);
    hash += hash >> 11;
  }
  switch (key.size() - at) {
    case 3: {
      hash += word(at);
      hash ^= hash << 16;
      // A signed byte, as in the original.
      const auto last = static_cast<signed char>(key[at + 2]);
      hash ^= static_cast<std::uint32_t>(last) << 18;
      hash += hash >> 11;
      break;
    }
    case 2:
      hash += word(at);
      hash ^= hash << 11;
      hash += hash >> 17;
      break;
    case 1:
      hash += Byte(key, at);
      hash ^= hash << 10;
      hash += hash >> 1;
      break;
    default:
      break;
  }
  hash ^= hash << 3;
  hash += hash >> 5;
  hash ^= hash << 4;
  hash += hash >> 17;
  hash ^= hash << 25;
  hash += hash >> 6;
  return hash;
}

std::uint32_t Hashkit(hashkit_hash_algorithm_t algorithm,
                      std::string_view key) {
  return libhashkit_digest(key.data(), key.size(), algorithm);
}

// --- mcrouter's Ch3 ----------------------------------------------------------

constexpr std::uint64_t kMurmurFactor = 0xc6a4a7935bd1e995U;
constexpr int kMurmurShift = 47;
constexpr std::uint64_t kFurcSeed = 4193360111U;

std::uint64_t MurmurEnd(std::uint64_t hash) {
  hash ^= hash >> kMurmurShift;
  hash *= kMurmurFactor;
  return hash ^ (hash >> kMurmurShift);
}

std::uint64_t MurmurWord(std::uint64_t hash, std::uint64_t word) {
  word *= kMurmurFactor;
  word ^= word >> kMurmurShift;
  word *= kMurmurFactor;
  return (hash ^ word) * kMurmurFactor;
}

// Austin Appleby's MurmurHash64A.
std::uint64_t Murmur64(std::string_view key) {
  std::uint64_t hash = kFurcSeed ^ (key.size() * kMurmurFactor);
  const auto bytes = [key](std::size_t at, std::size_t count) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < count; ++i) {
      word |= std::uint64_t{Byte(key, at + i)} << (kBitsPerByte * i);
    }
    return word;
  };
  std::size_t at = 0;
  for (; at + 8 <= key.size(); at += 8) hash = MurmurWord(hash, bytes(at, 8));
  if (at < key.size()) {
    hash = (hash ^ bytes(at, key.size() - at)) * kMurmurFactor;
  }
  return MurmurEnd(hash);
}

// Bits that follow from a key: 64 of its hash, then of that one's hash, ...
class BitsOfKey {
 public:
  explicit BitsOfKey(std::string_view key) { hashes_[0] = Murmur64(key); }

  std::uint32_t operator[](std::size_t bit) {
    const std::size_t wanted = bit / 64;
    for (; known_ < wanted; ++known_) {
      hashes_[known_ + 1] = MurmurEnd(
          MurmurWord(kFurcSeed ^ (8 * kMurmurFactor), hashes_[known_]));
    }
    return static_cast<std::uint32_t>(hashes_[wanted] >> (bit % 64)) & 1;
  }

 private:
  // 32 tries of 24 bits, each 23 behind the one before.
  std::array<std::uint64_t, 1024> hashes_;
  std::size_t known_ = 0;
};

}  // namespace

std::string_view NameOf(KeyHash hash) {
  for (const auto& [each, name] : kHashNames) {
    if (each == hash) return name;
  }
  return "unknown";
}

std::optional<KeyHash> KeyHashNamed(std::string_view name) {
  for (const auto& [hash, each] : kHashNames) {
    if (each == name) return hash;
  }
  return std::nullopt;
}

std::string KeyHashNames() {
  std::string names;
  for (const auto& [hash, name] : kHashNames) {
    names.append(names.empty() ? "" : ", ").append(name);
  }
  return names;
}

std::uint32_t HashOf(KeyHash hash, std::string_view key) {
  switch (hash) {
    case KeyHash::kMd5:
      return Hashkit(HASHKIT_HASH_MD5, key);
    case KeyHash::kOneAtATime:
      return Hashkit(HASHKIT_HASH_DEFAULT, key);
    case KeyHash::kCrc16:
      return Crc16(key);
    case KeyHash::kCrc32:
      return Hashkit(HASHKIT_HASH_CRC, key);
    case KeyHash::kCrc32a:
      return Crc32(key);
    case KeyHash::kCrc32a31:
      return Crc32(key) & 0x7fffffff;
    case KeyHash::kFnv1_64:
      return Hashkit(HASHKIT_HASH_FNV1_64, key);
    case KeyHash::kFnv1a_64:
      return Hashkit(HASHKIT_HASH_FNV1A_64, key);
    case KeyHash::kFnv1_32:
      return Hashkit(HASHKIT_HASH_FNV1_32, key);
    case KeyHash::kFnv1a_32:
      return Hashkit(HASHKIT_HASH_FNV1A_32, key);
    case KeyHash::kHsieh:
      return Hsieh(key);
    case KeyHash::kMurmur:
      return Hashkit(HASHKIT_HASH_MURMUR, key);
    case KeyHash::kJenkins:
      return Hashkit(HASHKIT_HASH_JENKINS, key);
  }
  return 0;
}

std::uint32_t FurcHash(std::string_view key, std::uint32_t count) {
  constexpr int kTries = 32;
  constexpr std::size_t kBitsApart = 23;
  if (count <= 1) return 0;
  BitsOfKey bits(key);
  // The tree's levels: which numbers have so many bits.
  auto level = static_cast<std::uint32_t>(std::bit_width(count - 1));
  std::size_t at = level;
  for (int i = 0; i < kTries; ++i) {
    while (bits[at] == 0) {
      if (--level == 0) return 0;
      at = level;
    }
    at += kBitsApart;
    std::uint32_t number = 1;
    for (std::uint32_t bit = 1; bit < level; ++bit, at += kBitsApart) {
      number = number << 1 | bits[at];
    }
    if (number < count) return number;
  }
  return 0;
}

}  // namespace ers::net
