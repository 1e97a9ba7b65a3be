// KeyPattern: which keys a rule is for.
#ifndef ERS_PROXY_SHARED_KEY_PATTERN_H_
#define ERS_PROXY_SHARED_KEY_PATTERN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ers/status.h"

namespace re2 {
class RE2;
}

namespace ers::proxy {

// Keys are bytes: no encoding is expected in them. Matching takes time in
// proportion to the key, whatever the pattern: clients choose the keys.
// A value type, immutable; any thread.
class KeyPattern {
 public:
  enum class Kind : std::uint8_t { kAny, kPrefix, kGlob, kRegex };

  KeyPattern() = default;  // any key
  static KeyPattern Prefix(std::string text);
  // Of the whole key: "*" stands for any bytes, "?" for one, "\" takes the next
  // byte as it is. kInvalidArgument: a "\" at the end.
  static Result<KeyPattern> Glob(std::string text);
  // RE2's syntax, of the whole key. kInvalidArgument says what is wrong.
  static Result<KeyPattern> Regex(std::string text);

  [[nodiscard]] bool Matches(std::string_view key) const;
  bool operator==(const KeyPattern& other) const {
    return kind_ == other.kind_ && text_ == other.text_;
  }

 private:
  static Result<KeyPattern> Compile(Kind kind, std::string text,
                                    const std::string& regex);

  Kind kind_ = Kind::kAny;
  std::string text_;
  std::shared_ptr<const re2::RE2> regex_;  // kGlob, kRegex
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SHARED_KEY_PATTERN_H_
