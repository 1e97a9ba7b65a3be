#include "unit/proxy/transcript.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

namespace ers::proxy {
namespace {

// "end-of-gets" of kEndOfGets.
std::string Name(Operation operation) {
#define ERS_ENUMERATOR(name, ...) #name,
  constexpr std::string_view kEnumerators[] = {
      ERS_PROXY_OPERATIONS(ERS_ENUMERATOR)};
#undef ERS_ENUMERATOR
  std::string name;
  for (const char c :
       kEnumerators[static_cast<std::size_t>(operation)].substr(1)) {
    const bool begins_word = c >= 'A' && c <= 'Z';
    if (begins_word && !name.empty()) name += '-';
    name += static_cast<char>(begins_word ? c - 'A' + 'a' : c);
  }
  return name;
}

std::string_view Name(StoreMode mode) {
  constexpr std::string_view kNames[] = {"set", "add", "replace", "append",
                                         "prepend"};
  return kNames[static_cast<std::size_t>(mode)];
}

std::string_view Name(Listed listed) {
  constexpr std::string_view kNames[] = {"transitioning", "narrow", "wide",
                                         "width", "all"};
  return kNames[static_cast<std::size_t>(listed)];
}

std::string DescribeStyle(const ReplyStyle& style) {
  std::string text;
  if (style.dialect == Dialect::kMeta) text += " meta";
  if (style.quiet) text += " quiet";
  if (style.with_cas) text += " with-cas";
  if (style.with_key) text += " with-key";
  if (!style.return_flags.empty()) {
    text += fmt::format(" return={}", style.return_flags);
  }
  if (!style.opaque.empty()) text += fmt::format(" opaque={}", style.opaque);
  if (style.key_is_base64) text += " base64";
  if (style.dialect == Dialect::kBinary) {
    text += fmt::format(" binary={:02x}:{:x}", style.opcode, style.opaque_id);
  }
  return text;
}

template <typename T>
std::string Optional(std::string_view name, const std::optional<T>& value) {
  return value ? fmt::format(" {}={}", name, *value) : std::string();
}

}  // namespace

std::string Printable(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (c >= ' ' && c <= '~') {
      text += c;
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return text;
}

std::string Describe(const ClientRequest& request) {
  const ClientRequest fresh;
  std::string text(Name(request.operation));
  if (!request.key.empty()) {
    text += fmt::format(" key={}", Printable(request.key));
  }
  if (!request.argument.empty()) {
    text += fmt::format(" argument={}", request.argument);
  }
  if (request.has_value())
    text += fmt::format(" bytes={}", request.value_bytes);
  if (request.operation == Operation::kStore) {
    text += fmt::format(" mode={}", Name(request.mode));
  }
  if (request.client_flags != 0) {
    text += fmt::format(" flags={}", request.client_flags);
  }
  text += Optional("cas", request.compare_cas);
  text += Optional("new-cas", request.new_cas);
  text += Optional("exptime", request.exptime);
  text += Optional("vivify", request.vivify);
  text += Optional("recache", request.recache);
  if (request.want_value) text += " want-value";
  if (request.no_bump) text += " no-bump";
  if (request.invalidate) text += " invalidate";
  if (request.delta != fresh.delta) {
    text += fmt::format(" delta={}", request.delta);
  }
  if (request.initial != 0) text += fmt::format(" initial={}", request.initial);
  if (request.decrement) text += " decrement";
  if (request.offset != 0) text += fmt::format(" offset={}", request.offset);
  if (request.operation == Operation::kList) {
    text += fmt::format(" listed={}", Name(request.listed));
    if (request.listed_blocks != 0) {
      text += fmt::format(" blocks={}", request.listed_blocks);
    }
  }
  if (request.level != 0) text += fmt::format(" level={}", request.level);
  if (request.traced) text += " traced";
  return text + DescribeStyle(request.style);
}

void Transcript::Line(std::string_view line) {
  if (!text_.empty()) text_ += '\n';
  text_ += line;
}

void Transcript::Feed(std::string_view bytes) {
  const auto reply = [this] {
    std::string text = Printable(reader_.error());
    if (text.ends_with("\\x0d\\x0a")) text.replace(text.size() - 8, 8, "|");
    return text;
  };
  while (true) {
    const char* before = bytes.data();
    const RequestReader::Event event = reader_.Next(bytes);
    if (event != RequestReader::Event::kValue &&
        event != RequestReader::Event::kNeedInput) {
      in_value_ = false;
    }
    switch (event) {
      case RequestReader::Event::kNeedInput:
        REQUIRE(bytes.empty());
        return;
      case RequestReader::Event::kRequest:
        Line(Describe(reader_.request()));
        break;
      case RequestReader::Event::kValue: {
        const std::string_view value = reader_.value();
        REQUIRE(!value.empty());
        REQUIRE(value.data() == before);  // not a copy
        if (!in_value_) Line("value:");
        in_value_ = true;
        text_ += Printable(value);
        break;
      }
      case RequestReader::Event::kValueEnd:
        Line("end");
        break;
      case RequestReader::Event::kValueBad:
        Line("bad:" + reply());
        break;
      case RequestReader::Event::kError:
        Line("error:" + reply() +
             (reader_.refused_key().empty()
                  ? ""
                  : " removes " + reader_.refused_key()));
        break;
      case RequestReader::Event::kClose:
        REQUIRE(bytes.empty());
        if (!text_.ends_with("close")) Line("close");
        return;
    }
  }
}

std::string TranscriptInPieces(std::string_view bytes,
                               const std::vector<std::size_t>& sizes,
                               const Limits& limits) {
  Transcript transcript(limits);
  std::size_t next = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = sizes[next++ % sizes.size()];
    // A copy of its own: a reader that reads beyond it is seen by ASan.
    const std::string piece(bytes.substr(at, size));
    transcript.Feed(piece);
    at += size;
  }
  return transcript.text();
}

std::string TranscriptOf(std::string_view bytes, const Limits& limits) {
  const std::string whole = TranscriptInPieces(
      bytes, {std::max<std::size_t>(bytes.size(), 1)}, limits);
  std::size_t differ = 0;
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    Transcript transcript(limits);
    transcript.Feed(std::string(bytes.substr(0, cut)));
    transcript.Feed(std::string(bytes.substr(cut)));
    if (transcript.text() != whole) ++differ;
  }
  for (std::size_t size = 1; size < 8; ++size) {
    if (TranscriptInPieces(bytes, {size}, limits) != whole) ++differ;
  }
  CHECK(differ == 0);
  return whole;
}

}  // namespace ers::proxy
