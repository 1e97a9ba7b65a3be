// The options that every command takes, and the client they open.
#ifndef ERS_CTL_SUPPORT_SESSION_H_
#define ERS_CTL_SUPPORT_SESSION_H_

#include <memory>
#include <string>
#include <string_view>

#include "ers/client.h"

namespace ers::ctl {

struct GlobalOptions {
  // One of the two is "", until the proxy has named the servers.
  std::string servers;
  std::string proxy;        // admin address, by which the servers are reached
  std::string config_file;  // "": DefaultConfigFile
  std::string token_file;   // of the proxy's admin port; "": it needs none
  // "": DefaultStateFile; "-": none.
  std::string state_file;
  // As ClusterOptions has them: what a proxy says.
  std::string distribution;
  std::string hash;
  std::string hash_tag;
  int max_failures = 0;
  int min_redundancy = 0;
  double timeout_seconds = 30;
  double request_timeout_seconds = 1;  // of one server; half of it to connect
  bool json = false;
};

// ${XDG_STATE_HOME:-~/.local/state}/libers/<hash>.view, the same for every
// order of the servers.
Result<std::string> DefaultStateFile(std::string_view servers);

// With the servers, their placement and the f that its proxy knows; as it is
// where it has none.
Result<GlobalOptions> WithServers(const GlobalOptions& global);

// The cluster that `global` names; creates the folder of its state file. Where
// that is by a proxy, it is asked for the servers, and each is reached through
// it. kInvalidArgument names the option at fault. Connects to no server.
Result<std::shared_ptr<Cluster>> OpenCluster(const GlobalOptions& global);
// A client of it.
Result<std::unique_ptr<Client>> OpenClient(const GlobalOptions& global,
                                           const ClientOptions& options = {});

// The same for a command that changes nothing: where the default state file has
// no folder to be in, it goes by the servers alone.
Result<std::unique_ptr<Client>> OpenReader(const GlobalOptions& global);

}  // namespace ers::ctl

#endif  // ERS_CTL_SUPPORT_SESSION_H_
