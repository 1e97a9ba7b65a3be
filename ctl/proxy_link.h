// ProxyLink: a connection to an ersproxy's client port, line by line.
#ifndef ERS_CTL_PROXY_LINK_H_
#define ERS_CTL_PROXY_LINK_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "ctl/files.h"
#include "ers/status.h"
#include "shared/address.h"

namespace ers::ctl {

// What --proxy names. kInvalidArgument where it is no address.
Result<proxy::Address> ParseProxy(const std::string& address);

// Blocking; every wait ends after the time-out. Errors name the address and
// what to do. One thread at a time.
class ProxyLink {
 public:
  // `address`: host:port, [IPv6]:port or /unix/socket. kInvalidArgument where
  // it is none; kUnavailable where no answer comes from there.
  static Result<ProxyLink> Open(const std::string& address,
                                double timeout_seconds);

  // kOutcomeUnknown: a part of it may have arrived.
  Status Send(std::string_view bytes);
  // Without its CRLF. kOutcomeUnknown: no such line came.
  Result<std::string> Line();
  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  ProxyLink(std::string address, Descriptor socket)
      : address_(std::move(address)), socket_(std::move(socket)) {}
  [[nodiscard]] Status Cut(std::string_view doing, int error) const;

  std::string address_;
  Descriptor socket_;
  std::string rest_;
};

}  // namespace ers::ctl

#endif  // ERS_CTL_PROXY_LINK_H_
