// The user that a daemon which root starts goes on as.
#ifndef ERS_PROXY_CONFIG_USER_H_
#define ERS_PROXY_CONFIG_USER_H_

#include <string>

#include "ers/status.h"

namespace ers::proxy {

// OK where this process can become `name`: it is root's, or is that user's
// already. Changes nothing. kInvalidArgument says why not. Any thread.
Status CheckUser(const std::string& name);

// All threads of this process are the user's from then on, with the user's
// groups and without any way back. The same errors; then nothing, or a part,
// has changed, and the process has to end.
Status BecomeUser(const std::string& name);

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_USER_H_
