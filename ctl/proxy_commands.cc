#include "ctl/proxy_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "ctl/key_text.h"
#include "ctl/progress.h"
#include "ctl/proxy_link.h"
#include "shared/base64.h"
#include "shared/plain_text.h"

namespace ers::ctl {
namespace {

// A name and its value, in the order of the answer.
using Facts = std::vector<std::pair<std::string, std::string>>;

// A key as a line has it between blanks, and the flag behind the other words.
struct KeyWord {
  std::string word;
  std::string_view flag;

  explicit KeyWord(const std::string& key) : word(key) {
    if (!proxy::NeedsBase64(key)) return;
    word.clear();
    proxy::AppendBase64(key, word);
    flag = " b";
  }
};

Status CheckKey(std::string_view key) {
  if (!key.empty() && key.size() <= kMaxKeyBytes) return {};
  return {StatusCode::kInvalidArgument,
          fmt::format("a key has 1 to {} bytes", kMaxKeyBytes)};
}

std::string_view Cut(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

// What a last line that is not the hoped-for one means.
Status Refusal(const ProxyLink& link, const std::string& key,
               std::string_view line) {
  const std::string_view all = line;
  const std::string_view word = Cut(line);
  if (word == "NOT_FOUND") {
    return {StatusCode::kNotFound,
            fmt::format("key '{}' holds no object", key)};
  }
  if (word == "ALREADY_THERE") {
    return {StatusCode::kAlreadyThere,
            fmt::format("key '{}' has that width or scheme already", key)};
  }
  if (word == "CLIENT_ERROR") {
    return {StatusCode::kInvalidArgument, std::string(line)};
  }
  if (word == "SERVER_ERROR") {
    return {StatusCode::kUnavailable,
            fmt::format("{}: {}", link.address(), line)};
  }
  if (word == "ERROR") {
    return {StatusCode::kIncompatible,
            fmt::format("{} knows no such command: a memcached? --proxy takes "
                        "the address of an ersproxy, --servers those of "
                        "memcacheds",
                        link.address())};
  }
  if (word.starts_with("HTTP/")) {
    return {StatusCode::kIncompatible,
            fmt::format("{} speaks HTTP: is it the admin address? This command "
                        "goes to the listen address",
                        link.address())};
  }
  return {StatusCode::kIncompatible,
          fmt::format("{} does not answer as an ersproxy, but \"{}\"",
                      link.address(), all.substr(0, 80))};
}

// Sends a command and gives each line but the last to `take`, which is false
// for one that does not belong there. Ends well with `last`.
template <typename Take>
Status Ask(const GlobalOptions& global, const std::string& key,
           std::string_view command, std::string_view last, const Take& take) {
  Result<ProxyLink> link =
      ProxyLink::Open(global.proxy, global.timeout_seconds);
  if (!link) return link.error();
  const Status sent = link->Send(command);
  if (!sent.ok()) return sent;
  for (;;) {
    const Result<std::string> line = link->Line();
    if (!line) return line.error();
    if (*line == last) return {};
    if (!take(*line)) return Refusal(*link, key, *line);
  }
}

// Of a command that only reads, no outcome is unknown.
Status AsReader(const Status& status) {
  if (status.code() != StatusCode::kOutcomeUnknown) return status;
  return {StatusCode::kUnavailable, status.message()};
}

Result<Facts> AskFacts(const GlobalOptions& global, const std::string& key,
                       std::string_view command) {
  Facts facts;
  const Status answered =
      Ask(global, key, command, "END", [&](std::string_view line) {
        if (Cut(line) != "STAT") return false;
        const std::string_view name = Cut(line);
        facts.emplace_back(name, line);
        return true;
      });
  if (!answered.ok()) return Fail(answered);
  return facts;
}

// Numbers as numbers, and "inline" as the yes or no that it is.
Json FactsJson(const std::string& key, const Facts& facts) {
  Json json = KeyJson(key);
  for (const auto& [name, value] : facts) {
    std::int64_t number = 0;
    const char* end = value.data() + value.size();
    const auto [at, error] = std::from_chars(value.data(), end, number);
    if (name == "inline") {
      json[name] = value == "1";
    } else if (error == std::errc() && at == end && name != "version") {
      json[name] = number;
    } else {
      json[name] = value;
    }
  }
  return json;
}

std::string FactsText(const std::string& key, const Facts& facts) {
  std::vector<std::vector<std::string>> rows = {{"key", KeyText(key)}};
  for (const auto& [name, value] : facts) rows.push_back({name, value});
  return Columns(rows);
}

// "KEY key scheme width bytes", or with a key in base64 and "b" behind all.
bool TakeListed(std::string_view line, const GlobalOptions& global, bool* first,
                Status* printed) {
  if (Cut(line) != "KEY") return false;
  std::string key(Cut(line));
  const std::string_view scheme = Cut(line);
  const std::string_view width = Cut(line);
  std::uint64_t length = 0;
  const std::string_view bytes = Cut(line);
  std::from_chars(bytes.data(), bytes.data() + bytes.size(), length);
  if (line == "b") {
    const std::string encoded = std::move(key);
    if (!proxy::DecodeBase64(encoded, key)) return false;
  }
  if (!printed->ok()) return true;  // the rest is only waited for
  if (!global.json) {
    *printed = Print(
        fmt::format("{}\t{}\t{}\t{}\n", KeyText(key), scheme, width, length));
    return true;
  }
  Json json = KeyJson(key);
  json.update({{"scheme", scheme}, {"width", width}, {"length", length}});
  std::string row = Line(json);
  row.pop_back();  // the comma comes before the line's end
  *printed = Print((*first ? "[" : ",\n") + row);
  *first = false;
  return true;
}

}  // namespace

Ending TransitionAtProxy(const GlobalOptions& global, const std::string& key,
                         const std::string& to) {
  const Status fits = CheckKey(key);
  if (!fits.ok()) return fits;
  const Progress progress("transition " + KeyText(key));
  const KeyWord named(key);
  const Result<Facts> facts = AskFacts(
      global, key,
      fmt::format("ers transition {} {}{}\r\n", named.word, to, named.flag));
  if (!facts) return facts.error();
  return PrintDone(global.json ? Line(FactsJson(key, *facts))
                               : FactsText(key, *facts));
}

Ending UpdateAtProxy(const GlobalOptions& global, const std::string& key,
                     std::uint64_t offset, std::span<const std::byte> bytes) {
  const Status fits = CheckKey(key);
  if (!fits.ok()) return fits;
  const KeyWord named(key);
  std::string command = fmt::format("ers update {} {} {}{}\r\n", named.word,
                                    offset, bytes.size(), named.flag);
  command.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  command += "\r\n";
  {
    const Progress progress("update " + KeyText(key));
    const auto nothing_else = [](std::string_view) { return false; };
    const Status updated = Ask(global, key, command, "UPDATED", nothing_else);
    if (!updated.ok()) return updated;
  }
  if (global.json) {
    Json json = KeyJson(key);
    json["updated"] = bytes.size();
    return PrintDone(Line(json));
  }
  return PrintDone(
      fmt::format("{}: {} bytes updated\n", KeyText(key), bytes.size()));
}

Status StatAtProxy(const GlobalOptions& global, const std::string& key) {
  const Status fits = CheckKey(key);
  if (!fits.ok()) return fits;
  const KeyWord named(key);
  const Result<Facts> facts = AskFacts(
      global, key, fmt::format("ers stat {}{}\r\n", named.word, named.flag));
  if (!facts) return AsReader(facts.error());
  return Print(global.json ? Line(FactsJson(key, *facts))
                           : FactsText(key, *facts));
}

Status ListAtProxy(const GlobalOptions& global, const std::string& list) {
  bool first = true;
  Status printed;
  const Status answered =
      Ask(global, "", fmt::format("ers list {}\r\n", list), "END",
          [&](std::string_view line) {
            return TakeListed(line, global, &first, &printed);
          });
  if (!answered.ok()) return AsReader(answered);
  if (!printed.ok() || !global.json) return printed;
  return Print(first ? "[]\n" : "]\n");
}

}  // namespace ers::ctl
