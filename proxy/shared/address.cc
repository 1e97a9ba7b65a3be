#include "shared/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <utility>

namespace ers::proxy {
namespace {

// sun_path holds a terminating zero as well.
constexpr std::size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;

tl::unexpected<Status> Refuse(std::string why) {
  return Fail(StatusCode::kInvalidArgument, std::move(why));
}

constexpr std::string_view kTcpForms = "host:port or [IPv6]:port";

// `forms` are all that the user may give.
Result<Address> ParseHostAndPort(std::string_view text,
                                 std::string_view forms) {
  Address address;
  if (text.find_first_of(" \t\r\n") != std::string_view::npos) {
    return Refuse("a blank is in it: give one address");
  }
  const std::size_t scheme = text.find("://");
  if (scheme != std::string_view::npos) {
    return Refuse(fmt::format("give host:port alone, without \"{}\"",
                              text.substr(0, scheme + 3)));
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return Refuse(fmt::format("give {}", forms));
  }
  address.host = text.substr(0, colon);
  address.port = text.substr(colon + 1);
  if (address.host.starts_with('[') && address.host.ends_with(']')) {
    address.host = address.host.substr(1, address.host.size() - 2);
  } else if (address.host.find(':') != std::string::npos) {
    return Refuse("write an IPv6 address in brackets, as [::1]:11211");
  }
  const bool digits =
      !address.port.empty() && address.port.size() <= 5 &&
      address.port.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || std::stoi(address.port) > 65535) {
    return Refuse("the port must be a number from 0 to 65535");
  }
  return address;
}

}  // namespace

Result<Address> ParseAddress(std::string_view text) {
  if (!text.starts_with('/')) {
    return ParseHostAndPort(text, "host:port, [IPv6]:port or /unix/path");
  }
  if (text.size() > kMaxPath) {
    return Refuse(fmt::format("the path is longer than {} bytes", kMaxPath));
  }
  Address address;
  address.path = text;
  return address;
}

Result<Address> ParseTcpAddress(std::string_view text) {
  if (text.starts_with('/')) return Refuse(fmt::format("give {}", kTcpForms));
  return ParseHostAndPort(text, kTcpForms);
}

bool IsLoopback(const Address& address) {
  if (!address.path.empty() || address.host == "localhost") return true;
  in_addr four{};
  if (inet_pton(AF_INET, address.host.c_str(), &four) == 1) {
    return ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  in6_addr six{};
  return inet_pton(AF_INET6, address.host.c_str(), &six) == 1 &&
         IN6_IS_ADDR_LOOPBACK(&six);
}

Result<std::string> AdminAddress(std::string_view text) {
  const Result<Address> address = ParseTcpAddress(text);
  if (!address) return Fail(address.error());
  if (!address->host.empty()) return std::string(text);
  return fmt::format("127.0.0.1:{}", address->port);
}

}  // namespace ers::proxy
