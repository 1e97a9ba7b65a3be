// The folder in which a daemon keeps what outlives it.
#ifndef ERS_PROXY_CONFIG_STATE_DIR_H_
#define ERS_PROXY_CONFIG_STATE_DIR_H_

#include <string>

#include "ers/status.h"

namespace ers::proxy {

// OK where it can be used, or made. Changes nothing. kInvalidArgument names it.
Status CheckStateDir(const std::string& folder);

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_STATE_DIR_H_
