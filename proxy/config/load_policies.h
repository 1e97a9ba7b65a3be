// What works in the background, in a configuration file.
#ifndef ERS_PROXY_CONFIG_LOAD_POLICIES_H_
#define ERS_PROXY_CONFIG_LOAD_POLICIES_H_

#include "config/options.h"
#include "config/yaml_value.h"
#include "ers/status.h"

namespace ers::proxy {

// The values of `policies` and `backfill`. kInvalidArgument: what is wrong with
// it, and where.
Status ReadPolicies(const YamlValue& value, ServerOptions& options);
Status ReadBackfill(const YamlValue& value, ServerOptions& options);

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_LOAD_POLICIES_H_
