#include "config/yaml_value.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "shared/read_file.h"

namespace ers::proxy {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20;
// The parser's tag of a scalar in quotes.
constexpr std::string_view kQuoted = "!";

// Counts documents. The parser's own list of them never ends for a text that
// has a ',' or the like behind its document, which is then another one, for
// ever.
class DocumentCounter final : public YAML::EventHandler {
 public:
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] const YAML::Mark& last() const { return last_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    ++count_;
    last_ = mark;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  int count_ = 0;
  YAML::Mark last_;
};

int LineOf(const YAML::Mark& mark) { return mark.line + 1; }

Status RefuseFile(const std::string& file, std::string_view why) {
  return {StatusCode::kInvalidArgument, fmt::format("{}: {}", file, why)};
}

}  // namespace

YamlValue::YamlValue(std::string file, std::string path, const YAML::Mark& mark,
                     YAML::Node node)
    : file_(std::move(file)),
      path_(std::move(path)),
      line_(LineOf(mark)),
      node_(node) {}

Result<YamlValue> YamlValue::Load(const std::string& file) {
  const Result<std::string> text = ReadRegularFile(file, kMaxFileBytes);
  if (!text) {
    return Fail(RefuseFile(
        file, fmt::format("cannot be read: {}", text.error().message())));
  }
  try {
    std::istringstream input(*text);
    YAML::Parser parser(input);
    DocumentCounter documents;
    while (documents.count() < 2 && parser.HandleNextDocument(documents)) {
    }
    if (documents.count() > 1) {
      return Fail(StatusCode::kInvalidArgument,
                  fmt::format("{}:{}: a second document begins: give one", file,
                              LineOf(documents.last())));
    }
    YAML::Node root = YAML::Load(*text);
    if (!root.IsDefined() || root.IsNull()) {
      root = YAML::Node(YAML::NodeType::Map);
    }
    return YamlValue(file, "", root.Mark(), root);
  } catch (const YAML::Exception& error) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("{}:{}: not YAML: {}", file, LineOf(error.mark),
                            error.msg));
  }
}

YamlValue YamlValue::OfOption(std::string option, std::string path,
                              const std::string& text) {
  YamlValue value(std::move(option), std::move(path), YAML::Mark(),
                  YAML::Node(text));
  value.line_ = 0;
  return value;
}

YamlValue YamlValue::OfOption(std::string option, std::string path,
                              const std::vector<std::string>& texts) {
  YamlValue value(std::move(option), std::move(path), YAML::Mark(),
                  YAML::Node(texts));
  value.line_ = 0;
  return value;
}

std::string YamlValue::place() const {
  if (line_ == 0) return file_;
  const std::string line = fmt::format("{}:{}", file_, line_);
  return path_.empty() ? line : fmt::format("{}: {}", line, path_);
}

Status YamlValue::Refuse(std::string_view why) const {
  return {StatusCode::kInvalidArgument, fmt::format("{}: {}", place(), why)};
}

Status YamlValue::RefuseKind(std::string_view expected) const {
  const std::string found = node_.IsMap()        ? "a mapping"
                            : node_.IsSequence() ? "a list"
                            : node_.IsScalar()
                                ? fmt::format("\"{}\"", node_.Scalar())
                                : "nothing";
  return Refuse(fmt::format("expected {}, found {}", expected, found));
}

template <typename Kind>
std::optional<Kind> YamlValue::Parsed() const {
  if (!node_.IsScalar() || node_.Tag() == kQuoted) return std::nullopt;
  const std::string& text = node_.Scalar();
  const char* end = text.data() + text.size();
  Kind number{};
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return number;
}

Result<std::uint64_t> YamlValue::Number(std::uint64_t least,
                                        std::uint64_t most) const {
  const auto number = Parsed<std::uint64_t>();
  if (!number || *number < least || *number > most) {
    return Fail(
        RefuseKind(fmt::format("a whole number from {} to {}", least, most)));
  }
  return *number;
}

Result<double> YamlValue::Share() const {
  const auto number = Parsed<double>();
  // What is no number is not in between, either.
  if (!number || !(*number >= 0 && *number <= 1)) {
    return Fail(RefuseKind("a number from 0 to 1"));
  }
  return *number;
}

Result<std::string> YamlValue::Text() const {
  if (!node_.IsScalar() || node_.Scalar().empty()) {
    return Fail(RefuseKind("a text that is not empty"));
  }
  return node_.Scalar();
}

Result<std::string> YamlValue::OneOf(
    std::span<const std::string_view> words) const {
  const bool found =
      node_.IsScalar() &&
      std::find(words.begin(), words.end(), node_.Scalar()) != words.end();
  if (!found)
    return Fail(RefuseKind(fmt::format("{}", fmt::join(words, " or "))));
  return node_.Scalar();
}

Result<std::vector<YamlValue>> YamlValue::List() const {
  if (!node_.IsSequence()) return Fail(RefuseKind("a list"));
  std::vector<YamlValue> values;
  for (const YAML::Node& item : node_) {
    values.push_back(YamlValue(
        file_, fmt::format("{}[{}]", path_, values.size()), item.Mark(), item));
    if (line_ == 0) values.back().line_ = 0;
  }
  return values;
}

// The old name of a key, and its new one.
constexpr std::pair<std::string_view, std::string_view> kRenamedKeys[] = {
    {"max_parity", "max_failures"},
    {"least_redundancy", "min_redundancy"},
    {"fill", "backfill"}};

Result<YamlValue::Entries> YamlValue::Mapping(
    std::span<const std::string_view> allowed) const {
  const auto check = [allowed](const YamlValue& key, const std::string& name) {
    if (std::find(allowed.begin(), allowed.end(), name) != allowed.end()) {
      return Status();
    }
    for (const auto& [old_name, new_name] : kRenamedKeys) {
      if (name != old_name) continue;
      return key.Refuse(
          fmt::format("\"{}\" is called \"{}\" now", old_name, new_name));
    }
    return key.Refuse(fmt::format("unknown key \"{}\": allowed are {}", name,
                                  fmt::join(allowed, ", ")));
  };
  return MappingOf(
      fmt::format("a mapping with keys of {}", fmt::join(allowed, ", ")),
      check);
}

Result<YamlValue::Entries> YamlValue::AnyMapping() const {
  return MappingOf("a mapping", [](const YamlValue&, const std::string&) {
    return Status();
  });
}

Result<YamlValue::Entries> YamlValue::MappingOf(std::string_view expected,
                                                const Check& check) const {
  if (!node_.IsMap()) return Fail(RefuseKind(expected));
  Entries entries;
  std::map<std::string, int> lines;
  for (const auto& item : node_) {
    const std::string name = item.first.IsScalar() ? item.first.Scalar() : "";
    // Complaints about a key stand where the key does, not its value.
    const YamlValue key(file_, path_, item.first.Mark(), item.first);
    Status allowed = check(key, name);
    if (!allowed.ok()) return Fail(std::move(allowed));
    const int line = LineOf(item.first.Mark());
    const auto [earlier, is_new] = lines.emplace(name, line);
    if (!is_new) {
      return Fail(key.Refuse(fmt::format(
          "\"{}\" is given twice, first in line {}", name, earlier->second)));
    }
    const std::string path =
        path_.empty() ? name : fmt::format("{}.{}", path_, name);
    entries.emplace_back(
        name, YamlValue(file_, path, item.first.Mark(), item.second));
  }
  return entries;
}

}  // namespace ers::proxy
