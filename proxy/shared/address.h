// Address: where a daemon listens, as it is written.
#ifndef ERS_PROXY_SHARED_ADDRESS_H_
#define ERS_PROXY_SHARED_ADDRESS_H_

#include <string>
#include <string_view>

#include "ers/status.h"

namespace ers::proxy {

// A value type; any thread.
struct Address {
  std::string path;  // of a unix socket; the others are empty then
  std::string host;  // without brackets; empty: every address of the machine
  std::string port;  // "0": any free one
};

// "host:port", "[IPv6]:port" or "/unix/path". kInvalidArgument says what is
// wrong, without quoting the text. Resolves no name.
Result<Address> ParseAddress(std::string_view text);
// The same without the last.
Result<Address> ParseTcpAddress(std::string_view text);

// Whether only this machine reaches it: a unix path, a number of the loopback
// interface or "localhost". Of other names it is not known.
bool IsLoopback(const Address& address);

// The text of an address for the admin port: not a unix path, and where it
// names no host, loopback. kInvalidArgument as above.
Result<std::string> AdminAddress(std::string_view text);

}  // namespace ers::proxy

#endif  // ERS_PROXY_SHARED_ADDRESS_H_
