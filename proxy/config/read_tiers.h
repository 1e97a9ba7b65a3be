// The tiers of the policies of a configuration file.
#ifndef ERS_PROXY_CONFIG_READ_TIERS_H_
#define ERS_PROXY_CONFIG_READ_TIERS_H_

#include "config/options.h"
#include "config/yaml_value.h"

namespace ers::proxy {

// A list of tiers into a policy of `options`. kInvalidArgument: what is wrong
// with it, and where.
Status ReadWidenTiers(const YamlValue& value, ServerOptions& options);
Status ReadNarrowTiers(const YamlValue& value, ServerOptions& options);

// A number into a policy of `options`, as its only tier: to the last width, or
// the first.
Status ReadWidenIdle(const YamlValue& value, ServerOptions& options);
Status ReadNarrowHits(const YamlValue& value, ServerOptions& options);

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_READ_TIERS_H_
