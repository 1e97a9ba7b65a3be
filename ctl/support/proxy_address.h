// What --proxy names.
#ifndef ERS_CTL_SUPPORT_PROXY_ADDRESS_H_
#define ERS_CTL_SUPPORT_PROXY_ADDRESS_H_

#include <string>

#include "ers/status.h"
#include "shared/address.h"

namespace ers::ctl {

// An ersproxy's admin port: a host, "" for this one, and a port.
// kInvalidArgument where it is none.
Result<proxy::Address> ParseProxy(const std::string& address);

// The token of its file (--token-file). kInvalidArgument where it holds none.
Result<std::string> ReadTokenFile(const std::string& path);

// Whether something listens there: kUnavailable says why not, and what to do.
// Waits so long at most.
Status TryProxy(const std::string& address, double timeout_seconds);

}  // namespace ers::ctl

#endif  // ERS_CTL_SUPPORT_PROXY_ADDRESS_H_
