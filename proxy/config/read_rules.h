// The rules of a configuration file.
#ifndef ERS_PROXY_CONFIG_READ_RULES_H_
#define ERS_PROXY_CONFIG_READ_RULES_H_

#include "config/options.h"
#include "config/yaml_value.h"

namespace ers::proxy {

// A list of rules into options.rules. kInvalidArgument: what is wrong with it,
// and where.
Status ReadRules(const YamlValue& value, ServerOptions& options);

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_READ_RULES_H_
