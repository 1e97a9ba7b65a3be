#include "ctl/support/report.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "ctl/support/key_text.h"
#include "shared/plain_text.h"

namespace ers::ctl {

ExitCode ExitCodeOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return kDone;
    case StatusCode::kNotFound:
      return kNoSuchObject;
    case StatusCode::kAlreadyThere:
      return kAlreadySo;
    case StatusCode::kInvalidArgument:
    case StatusCode::kTooLarge:
      return kBadUsage;
    default:
      return kClusterError;
  }
}

ExitCode ReportError(const Ending& ending, bool json) {
  const Status& status = ending.status;
  if (status.ok()) return kDone;
  const ExitCode exit_code =
      ending.done ? kReportLost
                  : ending.exit_code.value_or(ExitCodeOf(status.code()));
  const std::string_view name =
      exit_code == kReportLost ? "report-lost" : StatusCodeName(status.code());
  std::string message(status.message().empty() ? name : status.message());
  if (ending.done) {
    message = fmt::format(
        "this is done, do not repeat it; only its report is lost: {}", message);
  }
  std::string text;
  if (json) {
    text =
        Line({{"error",
               {{"code", name}, {"message", message}, {"exit", exit_code}}}});
  } else {
    text = fmt::format("ersctl: {}\n", OneLine(message));
  }
  // A closed standard error leaves no way to report.
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  return exit_code;
}

std::string OneLine(std::string_view text) {
  std::string line;
  proxy::AppendOneLine(text, line);
  return line;
}

std::string Line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json ObjectJson(std::string_view key, const ObjectInfo& info) {
  Json json = KeyJson(key);
  json.update({{"scheme", FormatScheme(info.scheme)},
               {"width", WidthName(info.scheme, info.width)},
               {"length", info.length},
               {"version", info.version},
               {"inline", info.is_inline},
               {"unit", UnitName(info.unit)},
               {"group_bytes", info.group_bytes},
               {"groups", info.groups},
               {"flags", info.client_flags},
               {"cas", info.cas},
               {"expiry", info.expiry}});
  if (!info.pack.empty()) json["pack"] = info.pack;
  return json;
}

std::string ObjectText(const ObjectInfo& info) {
  // A bare number would say little.
  const bool chain = info.scheme.kind == SchemeKind::kChain;
  return fmt::format("{} bytes, {}, {}{}{}", info.length,
                     FormatScheme(info.scheme), chain ? "width " : "",
                     WidthName(info.scheme, info.width),
                     info.pack.empty() ? "" : ", packed");
}

std::string Columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == row.size();
      text += last ? row[i] : fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    text += '\n';
  }
  return text;
}

Status WriteAll(int descriptor, std::span<const std::byte> bytes,
                std::string_view what) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const char* advice = errno == EPIPE    ? "its reader has gone"
                           : errno == ENOSPC ? "make room there"
                                             : "choose another place";
      return {StatusCode::kInvalidArgument,
              fmt::format("{}: cannot write: {}; {}", what,
                          std::strerror(errno), advice)};
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Status Print(std::string_view text) {
  errno = 0;
  const Status status = WriteAll(STDOUT_FILENO, std::as_bytes(std::span(text)),
                                 "standard output");
  return !status.ok() && errno == EPIPE ? Status() : status;
}

bool OutputHasEnded() {
  pollfd output = {STDOUT_FILENO, 0, 0};
  return poll(&output, 1, 0) > 0 &&
         (output.revents & (POLLERR | POLLNVAL)) != 0;
}

Ending PrintRead(std::string_view text) { return {Print(text), kReportLost}; }

Ending PrintDone(std::string_view text) { return {Print(text), true}; }

}  // namespace ers::ctl
