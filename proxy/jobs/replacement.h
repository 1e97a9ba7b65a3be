// Replacement: a server that is to take the place of another one.
#ifndef ERS_PROXY_JOBS_REPLACEMENT_H_
#define ERS_PROXY_JOBS_REPLACEMENT_H_

#include <string>
#include <string_view>

#include "ers/status.h"

namespace ers::proxy {

struct Replacement {
  std::string old_server;
  std::string new_server;
};

// {"old", "new"}. kInvalidArgument: what is wrong with the JSON.
Result<Replacement> ParseReplacement(std::string_view text);

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_REPLACEMENT_H_
