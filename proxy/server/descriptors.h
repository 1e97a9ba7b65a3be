// File descriptors: how many there may be, and which of them are no clients'.
// accept(2) gives the lowest number that is free: a client whose number is
// among the last ones there may be would take what connections to servers and
// files are to find free.
#ifndef ERS_PROXY_SERVER_DESCRIPTORS_H_
#define ERS_PROXY_SERVER_DESCRIPTORS_H_

#include "config/options.h"

namespace ers::proxy {

// That all but clients may want at a time.
int DescriptorsBesideClients(const ServerOptions& options);
// Tunnels through the admin port at a time (HTTP's CONNECT): a client has one
// to each server, and some more while it finds the view. Each takes two.
int MostTunnels(const ServerOptions& options);
// So many are allowed now.
int AllowedDescriptors();
// Clients' numbers are below it. Half of few that are allowed are theirs.
int EndOfClients(int allowed, int beside);

// For all clients that there may be and what is beside them. A line in the log
// where that is not allowed.
void RaiseDescriptorLimit(const ServerOptions& options);

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_DESCRIPTORS_H_
