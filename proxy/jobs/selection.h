// Selection: which objects a job takes.
#ifndef ERS_PROXY_JOBS_SELECTION_H_
#define ERS_PROXY_JOBS_SELECTION_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "ers/options.h"
#include "ers/status.h"
#include "shared/key_pattern.h"
#include "store/repair/listing.h"

namespace ers::proxy {

// Since when it was neither read nor changed, in seconds at this Unix time in
// microseconds. Below 0: the servers' clocks are ahead.
std::int64_t IdleSeconds(const store::ListedObject& object,
                         std::int64_t now_us);

// All that is given must hold; what is given is also kept as text.
struct Selection {
  std::string prefix;   // any bytes
  std::string pattern;  // RE2's syntax, of the whole key; empty: any
  KeyPattern compiled;  // of `pattern`
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = kMaxValueBytes;  // this length too
  // Neither read nor changed for so long; see store::ListedObject for how
  // exact that is.
  std::int64_t idle_seconds = 0;
  std::int64_t age_seconds = 0;  // not changed for so long
  bool in_blocks = false;        // no value that rides in its manifest

  [[nodiscard]] bool TakesKey(std::string_view key) const {
    return key.starts_with(prefix) &&
           (pattern.empty() || compiled.Matches(key));
  }
  [[nodiscard]] bool TakesLength(std::uint64_t bytes) const {
    return bytes >= min_bytes && bytes <= max_bytes;
  }
  // The rest, at this Unix time in microseconds.
  [[nodiscard]] bool TakesTimes(const store::ListedObject& object,
                                std::int64_t now_us) const;
};

// What a transition to `target` would do with an object.
enum class Need : std::uint8_t {
  kChange,
  kNothing,     // it is there
  kImpossible,  // a width that its scheme does not have
};
Need NeedOf(const store::Manifest& manifest, const TransitionTarget& target);

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_SELECTION_H_
