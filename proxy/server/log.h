// The daemon's log: spdlog's default logger, on standard error.
#ifndef ERS_PROXY_SERVER_LOG_H_
#define ERS_PROXY_SERVER_LOG_H_

#include <string>
#include <string_view>

#include "config/options.h"

namespace ers::proxy {

// Before any other thread starts.
void OpenLog(LogFormat format);
// One of kLogLevels. Any thread.
void SetLogLevel(const std::string& level);
// Where the library's lines go. Any thread.
void LogLine(LogLevel level, std::string_view line);

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_LOG_H_
