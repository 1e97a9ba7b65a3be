#include "config/collector_url.h"

#include <event2/http.h>
#include <event2/util.h>
#include <fmt/format.h>

#include <string_view>

#include "shared/event_owned.h"

namespace ers::proxy {
namespace {

// By OpenTelemetry's specification of exporters.
constexpr std::string_view kTracesPath = "/v1/traces";

}  // namespace

Result<CollectorUrl> ParseCollectorUrl(const std::string& base) {
  const auto refuse = [&base](std::string_view why) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("\"{}\": {}", base, why));
  };
  const EventOwned<evhttp_uri, evhttp_uri_free> uri(
      evhttp_uri_parse(base.c_str()));
  constexpr std::string_view kForm =
      "give http://host:port, as http://[::1]:4318";
  if (uri == nullptr) return refuse(kForm);
  const auto part = [](const char* text) {
    return std::string_view(text == nullptr ? "" : text);
  };
  const char* const scheme = evhttp_uri_get_scheme(uri.get());
  if (scheme == nullptr) return refuse(kForm);
  if (evutil_ascii_strcasecmp(scheme, "https") == 0) {
    return refuse(
        "https is not spoken here: send to a collector beside this process by "
        "http://, which sends on");
  }
  const std::string_view host = part(evhttp_uri_get_host(uri.get()));
  if (evutil_ascii_strcasecmp(scheme, "http") != 0 || host.empty()) {
    return refuse(kForm);
  }
  if (evhttp_uri_get_userinfo(uri.get()) != nullptr ||
      evhttp_uri_get_query(uri.get()) != nullptr ||
      evhttp_uri_get_fragment(uri.get()) != nullptr) {
    return refuse("it may have a host, a port and a path, and nothing else");
  }
  const int port = evhttp_uri_get_port(uri.get());
  if (port == 0) return refuse("the port must be a number from 1 to 65535");
  CollectorUrl url;
  if (port > 0) url.port = static_cast<std::uint16_t>(port);
  url.authority = fmt::format("{}:{}", host, url.port);
  url.host = host;
  if (host.front() == '[') url.host = host.substr(1, host.size() - 2);
  std::string_view path = part(evhttp_uri_get_path(uri.get()));
  while (path.ends_with('/')) path.remove_suffix(1);
  url.path = fmt::format("{}{}", path, kTracesPath);
  return url;
}

}  // namespace ers::proxy
