#include "cli/units.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <span>
#include <system_error>

namespace ers::cli {
namespace {

struct Unit {
  std::string_view name;
  double size;
};

constexpr Unit kByteUnits[] = {
    {"", 1},         {"B", 1},        {"kB", 1e3},     {"KB", 1e3},
    {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},    {"KiB", 1024.0},
    {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
};
constexpr double kMinute = 60;
constexpr double kHour = 60 * kMinute;
constexpr double kDay = 24 * kHour;
constexpr Unit kTimeUnits[] = {
    {"", 1},          {"ms", 1e-3}, {"s", 1},    {"m", kMinute},
    {"min", kMinute}, {"h", kHour}, {"d", kDay}, {"w", 7 * kDay},
};

// A plain decimal number and one of `units` behind it, perhaps with a blank.
std::optional<double> Parse(std::string_view text,
                            std::span<const Unit> units) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [next, error] =
      std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const bool plain =
      error == std::errc() && std::isfinite(number) && text.front() != '-';
  if (!plain) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(next - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  for (const Unit& unit : units) {
    if (text == unit.name) return number * unit.size;
  }
  return std::nullopt;
}

// Without zeros behind the point.
std::string ThreeDigits(double number) {
  const int decimals = number >= 100 ? 0 : number >= 10 ? 1 : 2;
  std::string text = fmt::format("{:.{}f}", number, decimals);
  if (decimals == 0) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

std::optional<std::uint64_t> ParseBytes(std::string_view text) {
  constexpr double kMost = 9e18;
  std::uint64_t whole = 0;
  const char* end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, whole);
  if (error == std::errc() && next == end) return whole;
  if (text.ends_with("/s")) text.remove_suffix(2);
  const std::optional<double> bytes = Parse(text, kByteUnits);
  if (!bytes || *bytes > kMost || std::fabs(*bytes - std::round(*bytes)) > 0.01)
    return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(*bytes));
}

std::optional<double> ParseSeconds(std::string_view text) {
  return Parse(text, kTimeUnits);
}

std::string BytesText(std::uint64_t bytes) {
  constexpr std::string_view kNames[] = {"KiB", "MiB", "GiB",
                                         "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double amount = static_cast<double>(bytes) / 1024;
  std::size_t name = 0;
  while (amount >= 1024 && name + 1 < std::size(kNames)) {
    amount /= 1024;
    ++name;
  }
  return fmt::format("{} {}", ThreeDigits(amount), kNames[name]);
}

std::string ExactBytesText(std::uint64_t bytes) {
  std::string text = fmt::format("{} bytes", bytes);
  if (bytes >= 1024) text += fmt::format(" ({})", BytesText(bytes));
  return text;
}

std::string SecondsText(double seconds) {
  constexpr Unit kShown[] = {{"d", kDay}, {"h", kHour}, {"min", kMinute}};
  double whole = std::round(seconds);
  for (std::size_t i = 0; i < std::size(kShown); ++i) {
    const Unit& unit = kShown[i];
    if (whole < unit.size) continue;
    const bool last = i + 1 == std::size(kShown);
    const Unit& next = last ? Unit{"s", 1} : kShown[i + 1];
    const double count = std::floor(whole / unit.size);
    const double rest = std::floor((whole - count * unit.size) / next.size);
    std::string text = fmt::format("{:.0f} {}", count, unit.name);
    if (rest > 0) text += fmt::format(" {:.0f} {}", rest, next.name);
    return text;
  }
  return fmt::format("{:.0f} s", whole);
}

CLI::Validator AsBytes() {
  return {[](std::string& value) {
            const auto bytes = ParseBytes(value);
            if (!bytes) {
              return std::string(
                  "it must be a number of bytes, as 4096, 64MiB or 50MB");
            }
            value = std::to_string(*bytes);
            return std::string();
          },
          ""};
}

CLI::Validator AsSeconds() {
  return {[](std::string& value) {
            const auto seconds = ParseSeconds(value);
            if (!seconds) {
              return std::string("it must be a time, as 90, 500ms, 5m or 7d");
            }
            value = fmt::format("{}", *seconds);
            return std::string();
          },
          ""};
}

}  // namespace ers::cli
