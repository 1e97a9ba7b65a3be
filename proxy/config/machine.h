// What settings name on this machine: whether it is there. Only a start and
// --check-config check: a process that gave root's rights up may see less.
#ifndef ERS_PROXY_CONFIG_MACHINE_H_
#define ERS_PROXY_CONFIG_MACHINE_H_

#include "config/options.h"
#include "ers/status.h"

namespace ers::proxy {

// The folders of the state file and of sockets. kInvalidArgument names the
// setting and what is missing. Changes nothing.
Status CheckFolders(const ServerOptions& options);

// The names of hosts, servers' and our own, until one is not found. As above. A
// daemon starts all the same: a name may be known later. Asks the resolver, and
// waits for it.
Status CheckNames(const ServerOptions& options);

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_MACHINE_H_
