#include "shared/log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "shared/plain_text.h"

namespace ers::proxy {
namespace {

// One object a line. A pattern would not quote what the message holds.
class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message,
              spdlog::memory_buf_t& into) override {
    using std::chrono::milliseconds;
    const auto since_epoch = std::chrono::duration_cast<milliseconds>(
        message.time.time_since_epoch());
    const auto level = spdlog::level::to_string_view(message.level);
    nlohmann::ordered_json line;
    line["time"] = fmt::format(
        "{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
        fmt::gmtime(std::chrono::system_clock::to_time_t(message.time)),
        since_epoch.count() % 1000);
    line["level"] = std::string(level.data(), level.size());
    line["message"] =
        std::string(message.payload.data(), message.payload.size());
    // Keys of clients may stand in it, and they may be any bytes.
    const std::string text =
        line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
        "\n";
    into.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

}  // namespace

std::string_view FormatName(LogFormat format) {
  return kLogFormats[static_cast<std::size_t>(format)];
}

LogFormat LogFormatOf(std::string_view name) {
  return name == FormatName(LogFormat::kJson) ? LogFormat::kJson
                                              : LogFormat::kText;
}

void OpenLog(LogFormat format) {
  auto logger = std::make_shared<spdlog::logger>(
      "ersproxy", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  if (format == LogFormat::kJson) {
    logger->set_formatter(std::make_unique<JsonFormatter>());
  } else {
    logger->set_pattern("[%Y-%m-%d %H:%M:%S.%e %z] [%n] [%l] %v");
  }
  spdlog::set_default_logger(std::move(logger));
}

void SetLogLevel(const std::string& level) {
  spdlog::set_level(spdlog::level::from_str(level));
}

void LogLine(LogLevel level, std::string_view line) {
  static constexpr spdlog::level::level_enum kLevels[] = {
      spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
      spdlog::level::err};
  // Keys of clients may stand in it, and make no lines of their own.
  std::string one_line;
  AppendOneLine(line, one_line);
  spdlog::log(kLevels[static_cast<std::size_t>(level)], "{}", one_line);
}

}  // namespace ers::proxy
