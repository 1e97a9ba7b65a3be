// The daemon's log: spdlog's default logger, on standard error.
#ifndef ERS_PROXY_SHARED_LOG_H_
#define ERS_PROXY_SHARED_LOG_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "ers/options.h"

namespace ers::proxy {

enum class LogFormat : std::uint8_t { kText, kJson };
inline constexpr std::string_view kLogFormats[] = {"text", "json"};
inline constexpr std::string_view kLogLevels[] = {"debug", "info", "warning",
                                                  "error"};
std::string_view FormatName(LogFormat format);
// REQUIRES: one of kLogFormats.
LogFormat LogFormatOf(std::string_view name);

// Before any other thread starts.
void OpenLog(LogFormat format);
// One of kLogLevels. Any thread.
void SetLogLevel(const std::string& level);
// Where the library's lines go. Any thread.
void LogLine(LogLevel level, std::string_view line);

}  // namespace ers::proxy

#endif  // ERS_PROXY_SHARED_LOG_H_
