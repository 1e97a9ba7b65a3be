// Placement: by which rule a key belongs to a server, beside the list of these.
#ifndef ERS_NET_PLACEMENT_H_
#define ERS_NET_PLACEMENT_H_

#include <string>
#include <string_view>

#include "ers/status.h"
#include "net/key_hash.h"

namespace ers::net {

enum class Distribution {
  kKetama,  // libmemcached's weighted one, which is also twemproxy's
  kModula,  // twemproxy's: the hash modulo the servers, by weight
  kCh3,     // mcrouter's, which has no weights
};

// A value type. The default is what libmemcached's clients do.
struct Placement {
  Distribution distribution = Distribution::kKetama;
  KeyHash hash = KeyHash::kMd5;  // not of kCh3
  // Empty, or two characters: only what is between them in a key is hashed,
  // where there is something. Of mcrouter's it is what is before kHashStop.
  std::string hash_tag;

  bool operator==(const Placement&) const = default;

  // The part of `key` that decides.
  [[nodiscard]] std::string_view Hashed(std::string_view key) const;
};

inline constexpr std::string_view kHashStop = "|#|";

// As twemproxy's configuration has it: "ketama".
std::string_view NameOf(Distribution distribution);

// From their names; empty: the default. kInvalidArgument names what is wrong.
Result<Placement> ParsePlacement(std::string_view distribution,
                                 std::string_view hash,
                                 std::string_view hash_tag);

// "modula with hash fnv1a_64 and hash tag {}": for people.
std::string Describe(const Placement& placement);

}  // namespace ers::net

#endif  // ERS_NET_PLACEMENT_H_
