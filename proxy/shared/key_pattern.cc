#include "shared/key_pattern.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <utility>

namespace ers::proxy {

KeyPattern KeyPattern::Prefix(std::string text) {
  KeyPattern pattern;
  pattern.kind_ = Kind::kPrefix;
  pattern.text_ = std::move(text);
  return pattern;
}

Result<KeyPattern> KeyPattern::Glob(std::string text) {
  std::string regex;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '*') {
      regex += ".*";
    } else if (text[i] == '?') {
      regex += '.';
    } else {
      if (text[i] == '\\' && ++i == text.size()) {
        return Fail(StatusCode::kInvalidArgument,
                    "nothing stands behind the last \"\\\"");
      }
      regex += re2::RE2::QuoteMeta(std::string(1, text[i]));
    }
  }
  return Compile(Kind::kGlob, std::move(text), regex);
}

Result<KeyPattern> KeyPattern::Regex(std::string text) {
  const std::string regex = text;
  return Compile(Kind::kRegex, std::move(text), regex);
}

Result<KeyPattern> KeyPattern::Compile(Kind kind, std::string text,
                                       const std::string& regex) {
  re2::RE2::Options options;
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  options.set_dot_nl(true);
  options.set_log_errors(false);
  options.set_never_capture(true);
  auto compiled = std::make_shared<const re2::RE2>(regex, options);
  if (!compiled->ok()) {
    return Fail(
        StatusCode::kInvalidArgument,
        fmt::format("no regular expression (RE2): {}", compiled->error()));
  }
  KeyPattern pattern;
  pattern.kind_ = kind;
  pattern.text_ = std::move(text);
  pattern.regex_ = std::move(compiled);
  return pattern;
}

bool KeyPattern::Matches(std::string_view key) const {
  switch (kind_) {
    case Kind::kAny:
      return true;
    case Kind::kPrefix:
      return key.starts_with(text_);
    case Kind::kGlob:
    case Kind::kRegex:
      break;
  }
  return re2::RE2::FullMatch(re2::StringPiece(key.data(), key.size()), *regex_);
}

}  // namespace ers::proxy
