// Hashes of keys, as other proxies and clients of memcached have them.
#ifndef ERS_NET_KEY_HASH_H_
#define ERS_NET_KEY_HASH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ers::net {

enum class KeyHash {
  kMd5,
  kOneAtATime,
  kCrc16,
  kCrc32,     // libmemcached's and twemproxy's: 15 bits of a CRC-32
  kCrc32a,    // a CRC-32
  kCrc32a31,  // mcrouter's "Crc32": 31 bits of a CRC-32
  kFnv1_64,
  kFnv1a_64,
  kFnv1_32,
  kFnv1a_32,
  kHsieh,
  kMurmur,
  kJenkins,
};

// As twemproxy's configuration has it: "fnv1a_64".
std::string_view NameOf(KeyHash hash);
std::optional<KeyHash> KeyHashNamed(std::string_view name);
// "md5, one_at_a_time, ...": for messages.
std::string KeyHashNames();

std::uint32_t HashOf(KeyHash hash, std::string_view key);

// mcrouter's "Ch3": a number below `count`, which is at most 2^23 and above 0.
std::uint32_t FurcHash(std::string_view key, std::uint32_t count);

}  // namespace ers::net

#endif  // ERS_NET_KEY_HASH_H_
