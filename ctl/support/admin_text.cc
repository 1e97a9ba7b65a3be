#include "ctl/support/admin_text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace ers::ctl {

std::string TextIn(const Json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_string() ? at->get<std::string>() : "";
}

std::uint64_t NumberIn(const Json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_number_unsigned() ? at->get<std::uint64_t>()
                                                      : 0;
}

Json ObjectIn(const Json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_object() ? *at : Json::object();
}

Json ListIn(const Json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_array() ? *at : Json::array();
}

std::string TimeText(std::int64_t unix_seconds) {
  if (unix_seconds == 0) return "-";
  return fmt::format("{:%FT%TZ}",
                     fmt::gmtime(static_cast<std::time_t>(unix_seconds)));
}

std::string ServerText(const std::string& name, const std::string& slot) {
  return slot == name ? name : fmt::format("{} (for {})", name, slot);
}

std::string TookText(const Json& latency, const char* name) {
  constexpr double kMs = 1e3, kSecond = 1e6;
  const Json given = latency.value(name, Json());
  if (!given.is_number()) return "-";
  const double micros = given.get<double>();
  if (micros < kMs) return fmt::format("{:.0f}us", micros);
  if (micros < kSecond) return fmt::format("{:.3g}ms", micros / kMs);
  return fmt::format("{:.3g}s", micros / kSecond);
}

std::string BesideText(const Json& latency) {
  const Json beside = latency.value("beside_others", Json());
  return beside.is_number() ? fmt::format("{:.2f}x", beside.get<double>())
                            : "-";
}

std::string Plain(std::string_view text) {
  constexpr char kBeforeControl = '\xc2';  // U+0080 to U+009F in UTF-8
  std::string plain = OneLine(text);
  for (std::size_t i = 0; i + 1 < plain.size(); ++i) {
    const auto next = static_cast<unsigned char>(plain[i + 1]);
    if (plain[i] == kBeforeControl && next >= 0x80 && next < 0xa0) {
      plain[i] = plain[i + 1] = ' ';
    }
  }
  return plain;
}

std::string EventText(const Json& event) {
  constexpr std::uint64_t kMsPerSecond = 1000;
  const Json asker = ObjectIn(event, "asked_by");
  std::string text = fmt::format(
      "{}  {:<7}  {:<8}  {}",
      TimeText(
          static_cast<std::int64_t>(NumberIn(event, "time_ms") / kMsPerSecond)),
      TextIn(event, "level"), TextIn(event, "kind"), TextIn(event, "text"));
  if (!asker.empty()) {
    text += fmt::format(" (by {} {})", TextIn(asker, "address"),
                        TextIn(asker, "agent"));
  }
  return Plain(text);
}

}  // namespace ers::ctl
