#include "admin/http.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <nlohmann/json.hpp>
#include <system_error>

namespace ers::proxy {
namespace {

constexpr std::string_view kBlanks = " \t";

std::string_view Reason(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "";
  }
}

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool SameWord(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

std::string_view Trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// The next part up to `end`, or all; taken from `text` with its end.
std::string_view TakeUntil(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

std::string_view TakeLine(std::string_view& text) {
  std::string_view line = TakeUntil(text, '\n');
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// What methods and names of headers are made of.
bool IsToken(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    const char lower = Lower(c);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) !=
               std::string_view::npos;
  });
}

// Some clients end the body before with an empty line.
std::string_view WithoutEmptyLines(std::string_view input) {
  input.remove_prefix(std::min(input.find_first_not_of("\r\n"), input.size()));
  return input;
}

std::optional<HttpReply> ParseRequestLine(std::string_view line,
                                          HttpRequest& request) {
  request.method = TakeUntil(line, ' ');
  std::string_view target = TakeUntil(line, ' ');
  if (!IsToken(request.method) || target.empty() ||
      !line.starts_with("HTTP/")) {
    return HttpError(400, "this is no HTTP request");
  }
  if (line != "HTTP/1.1" && line != "HTTP/1.0") {
    return HttpError(505, "HTTP/1.1 is spoken here");
  }
  request.keeps_open = line == "HTTP/1.1";
  // As proxies are asked.
  const std::size_t scheme = target.find("://");
  if (!target.starts_with('/') && scheme != std::string_view::npos) {
    target.remove_prefix(scheme + 3);
    target.remove_prefix(std::min(target.find('/'), target.size()));
  }
  request.path = target.substr(0, target.find('?'));
  return std::nullopt;
}

std::optional<HttpReply> TakeLength(std::string_view value,
                                    std::optional<std::size_t>& before) {
  std::size_t length = 0;
  const char* end = value.data() + value.size();
  const auto parsed = std::from_chars(value.data(), end, length);
  const bool too_long = parsed.ec == std::errc::result_out_of_range;
  if (value.empty() || parsed.ptr != end ||
      (parsed.ec != std::errc() && !too_long) ||
      (before && *before != length)) {
    return HttpError(400, "Content-Length: it must be one number");
  }
  if (too_long || length > kMaxHttpBody) {
    return HttpError(413, fmt::format("the body is too long: at most {} bytes "
                                      "are taken",
                                      kMaxHttpBody));
  }
  before = length;
  return std::nullopt;
}

// One header, so far as it matters here.
std::optional<HttpReply> TakeField(std::string_view name,
                                   std::string_view value,
                                   std::optional<std::size_t>& length,
                                   HttpRequest& request) {
  if (SameWord(name, "Content-Length")) return TakeLength(value, length);
  if (SameWord(name, "Transfer-Encoding")) {
    return HttpError(411, "send the body as it is, with its Content-Length");
  }
  if (SameWord(name, "Content-Type")) {
    request.content_type = value;
  } else if (SameWord(name, "Origin")) {
    request.has_origin = !value.empty();
  } else if (SameWord(name, "Expect")) {
    request.waits = SameWord(value, "100-continue");
  } else if (SameWord(name, "Connection")) {
    while (!value.empty()) {
      const std::string_view word = Trimmed(TakeUntil(value, ','));
      if (SameWord(word, "close")) request.keeps_open = false;
      if (SameWord(word, "keep-alive")) request.keeps_open = true;
    }
  }
  return std::nullopt;
}

}  // namespace

HttpReply HttpError(int code, std::string_view message) {
  nlohmann::ordered_json root;
  root["error"] = message;
  HttpReply reply;
  reply.code = code;
  reply.body = root.dump(-1, ' ', false,
                         nlohmann::ordered_json::error_handler_t::replace) +
               "\n";
  return reply;
}

std::optional<std::size_t> HttpHeadLength(std::string_view input) {
  std::size_t line = input.size() - WithoutEmptyLines(input).size();
  for (std::size_t end = input.find('\n', line); end != std::string_view::npos;
       end = input.find('\n', line)) {
    const std::size_t length = end - line;
    if (length == 0 || (length == 1 && input[line] == '\r')) return end + 1;
    line = end + 1;
  }
  return std::nullopt;
}

std::optional<HttpReply> RefuseHttpLine(std::string_view input) {
  input = WithoutEmptyLines(input);
  if (input.find('\n') == std::string_view::npos) return std::nullopt;
  HttpRequest request;
  return ParseRequestLine(TakeLine(input), request);
}

std::optional<HttpReply> ParseHttpHead(std::string_view head,
                                       HttpRequest& request) {
  head = WithoutEmptyLines(head);
  std::optional<HttpReply> refused = ParseRequestLine(TakeLine(head), request);
  if (refused) return refused;
  std::optional<std::size_t> length;
  for (std::string_view line = TakeLine(head); !line.empty();
       line = TakeLine(head)) {
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == std::string_view::npos || !IsToken(name)) {
      return HttpError(400, "a header line is no \"Name: value\"");
    }
    refused = TakeField(name, Trimmed(line.substr(colon + 1)), length, request);
    if (refused) return refused;
  }
  request.content_length = length.value_or(0);
  return std::nullopt;
}

std::string HttpReplyText(const HttpReply& reply, bool keeps_open,
                          bool head_only) {
  std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nDate: {:%a, %d %b %Y %H:%M:%S} GMT\r\n"
      "Content-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "Connection: {}\r\n",
      reply.code, Reason(reply.code), fmt::gmtime(std::time(nullptr)),
      reply.type, reply.body.size(), keeps_open ? "keep-alive" : "close");
  if (!reply.allow.empty()) text += fmt::format("Allow: {}\r\n", reply.allow);
  text += "\r\n";
  if (!head_only) text += reply.body;
  return text;
}

}  // namespace ers::proxy
