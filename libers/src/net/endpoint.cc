#include "net/endpoint.h"

#include <fmt/format.h>
#include <sys/un.h>

#include <algorithm>
#include <optional>
#include <string>

#include "net/number.h"

namespace ers::net {
namespace {

constexpr int kMaxWeight = 1000;
constexpr int kMaxPort = 65535;
// sun_path holds a terminating zero as well.
constexpr std::size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::size_t kMaxLabel = 255;

bool AllDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
}

bool IsGraphic(char c) { return c > ' ' && c <= '~'; }

std::optional<int> NumberIn(std::string_view text, int low, int high) {
  int value = 0;
  if (!ParseNumber(text, &value) || value < low || value > high) {
    return std::nullopt;
  }
  return value;
}

tl::unexpected<Status> Refuse(std::string_view text, std::string_view why) {
  std::string message = "server \"";
  message.append(text).append("\": ").append(why);
  return Fail(StatusCode::kInvalidArgument, std::move(message));
}

tl::unexpected<Status> RefuseWeight(std::string_view text) {
  return Refuse(text, "the weight must be a number from 1 to 1000");
}

Result<Endpoint> ParseUnix(std::string_view text, std::string_view path) {
  Endpoint endpoint;
  const std::size_t colon = path.rfind(':');
  // A path may itself hold colons: only digits behind the last are a weight.
  if (colon != std::string_view::npos && AllDigits(path.substr(colon + 1))) {
    const auto weight = NumberIn(path.substr(colon + 1), 1, kMaxWeight);
    if (!weight) return RefuseWeight(text);
    endpoint.weight = *weight;
    path = path.substr(0, colon);
  }
  if (path.size() < 2 || path[0] != '/') {
    return Refuse(text, "a unix socket needs an absolute path");
  }
  if (path.size() > kMaxPath) {
    return Refuse(text, "a unix socket's path may have at most 107 bytes");
  }
  endpoint.path = path;
  return endpoint;
}

bool IsHostCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '_';
}

bool IsV6Character(char c) {
  return IsHostCharacter(c) || c == ':' || c == '%';
}

// Splits off the host; `rest` is then ":port[:weight]" or wrong.
Result<std::string> TakeHost(std::string_view text, std::string_view* rest) {
  std::string_view host;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return Refuse(text, "\"]\" is missing");
    host = text.substr(1, end - 1);
    *rest = text.substr(end + 1);
    if (host.find(':') == std::string_view::npos ||
        !std::all_of(host.begin(), host.end(), IsV6Character)) {
      return Refuse(text, "the brackets must hold an IPv6 address");
    }
  } else {
    const std::size_t end = std::min(text.find(':'), text.size());
    host = text.substr(0, end);
    *rest = text.substr(end);
    if (host.empty() && !text.starts_with("::")) {
      return Refuse(text,
                    "the host is missing, as in 127.0.0.1" + std::string(text));
    }
    if (text.find("::") != std::string_view::npos ||
        std::count(text.begin(), text.end(), ':') > 2) {
      return Refuse(text, "write an IPv6 address in brackets, as [::1]:11211");
    }
    if (host.empty() ||
        !std::all_of(host.begin(), host.end(), IsHostCharacter)) {
      return Refuse(text,
                    "expected host:port, [IPv6]:port or /path, each with an "
                    "optional :weight");
    }
  }
  return std::string(host);
}

Result<Endpoint> ParseAddressOf(std::string_view text) {
  if (text.starts_with('/')) return ParseUnix(text, text);
  if (text.starts_with("unix:")) return ParseUnix(text, text.substr(5));
  if (text.empty()) return Refuse(text, "a comma is one too many");
  if (text.find_first_of(" \t\r\n") != std::string_view::npos) {
    return Refuse(text,
                  "a blank is in it: servers stand apart by commas alone");
  }
  const std::size_t scheme = text.find("://");
  if (scheme != std::string_view::npos) {
    return Refuse(text, "give host:port alone, without \"" +
                            std::string(text.substr(0, scheme + 3)) + "\"");
  }

  std::string_view rest;
  auto host = TakeHost(text, &rest);
  if (!host) return Fail(host.error());
  Endpoint endpoint;
  endpoint.host = std::move(*host);
  if (!rest.starts_with(':')) {
    return Refuse(text,
                  "the port is missing, as in " +
                      std::string(text.substr(0, text.size() - rest.size())) +
                      ":11211");
  }
  rest.remove_prefix(1);
  const std::size_t colon = rest.find(':');
  const auto port = NumberIn(rest.substr(0, colon), 1, kMaxPort);
  if (!port) return Refuse(text, "the port must be a number from 1 to 65535");
  endpoint.port = *port;
  if (colon != std::string_view::npos) {
    const auto weight = NumberIn(rest.substr(colon + 1), 1, kMaxWeight);
    if (!weight) return RefuseWeight(text);
    endpoint.weight = *weight;
  }
  return endpoint;
}

// Where "=label" begins; npos: nowhere. A path may itself hold "=": its label
// follows a weight.
std::size_t LabelAt(std::string_view text) {
  const bool is_path = text.starts_with('/') || text.starts_with("unix:");
  const std::size_t equals = text.find('=');
  if (!is_path) return equals;
  const std::string_view path = text.substr(0, text.rfind('='));
  const std::size_t colon = path.rfind(':');
  const bool weighted = path.size() < text.size() &&
                        colon != std::string_view::npos &&
                        AllDigits(path.substr(colon + 1));
  return weighted ? path.size() : std::string_view::npos;
}

}  // namespace

bool IsLabel(std::string_view text) {
  return !text.empty() && text.size() <= kMaxLabel &&
         std::all_of(text.begin(), text.end(), IsGraphic);
}

std::string Endpoint::name() const {
  if (is_unix()) return path;
  const std::string digits = std::to_string(port);
  if (host.find(':') != std::string::npos) return "[" + host + "]:" + digits;
  return host + ":" + digits;
}

std::string Endpoint::authority() const {
  // Brackets take no zone of an address.
  if (!is_unix() && host.find('%') == std::string::npos) return name();
  std::string text;
  for (const char c : is_unix() ? path : host) {
    if (IsHostCharacter(c)) {
      text += c;
    } else {
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return fmt::format("{}:{}", text, is_unix() ? 0 : port);
}

Result<Endpoint> ParseEndpoint(std::string_view text) {
  const std::size_t equals = LabelAt(text);
  Result<Endpoint> endpoint = ParseAddressOf(text.substr(0, equals));
  if (!endpoint || equals == std::string_view::npos) return endpoint;
  endpoint->label = text.substr(equals + 1);
  if (IsLabel(endpoint->label)) return endpoint;
  return Refuse(text, "a label is one word of printable characters");
}

Result<std::vector<Endpoint>> ParseEndpoints(std::string_view text) {
  std::vector<Endpoint> endpoints;
  if (text.empty()) {
    return Fail(StatusCode::kInvalidArgument,
                "the list of servers is empty: name at least one host:port");
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    auto endpoint = ParseEndpoint(text.substr(begin, end - begin));
    if (!endpoint) return Fail(endpoint.error());
    for (const Endpoint& other : endpoints) {
      if (other.name() == endpoint->name()) {
        return Refuse(endpoint->name(), "it is listed twice");
      }
    }
    endpoints.push_back(std::move(*endpoint));
    endpoints.back().position = static_cast<int>(endpoints.size()) - 1;
    begin = end + 1;
  }
  return endpoints;
}

}  // namespace ers::net
