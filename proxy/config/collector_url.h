// CollectorUrl: where an OpenTelemetry collector takes traces.
#ifndef ERS_PROXY_CONFIG_COLLECTOR_URL_H_
#define ERS_PROXY_CONFIG_COLLECTOR_URL_H_

#include <cstdint>
#include <string>

#include "ers/status.h"

namespace ers::proxy {

struct CollectorUrl {
  std::string host;  // of an IPv6 address without its brackets
  std::uint16_t port = 80;
  std::string path;       // of the traces: "/v1/traces"
  std::string authority;  // host and port, as HTTP names them

  // As the log shows it.
  [[nodiscard]] std::string text() const {
    return "http://" + authority + path;
  }
};

// Of the base of an OTLP/HTTP endpoint: "http://host:4318", to which the path
// of traces is added. kInvalidArgument: why not.
Result<CollectorUrl> ParseCollectorUrl(const std::string& base);

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_COLLECTOR_URL_H_
