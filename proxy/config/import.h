// ImportSettings: the configuration of another proxy as one of this one.
#ifndef ERS_PROXY_CONFIG_IMPORT_H_
#define ERS_PROXY_CONFIG_IMPORT_H_

#include <string>
#include <string_view>

#include "config/imported_pool.h"
#include "ers/status.h"

namespace ers::proxy {

// twemproxy's nutcracker.yml, or mcrouter's JSON, as text of a YAML file: the
// same listeners, servers in order, weights and placement, and in comments what
// was not carried over, and why. `pool` says which, where there are several;
// what the others have is no matter.
// kInvalidArgument names the place at fault, also where values could not be
// found by any setting of this proxy.
Result<std::string> ImportSettings(const std::string& file,
                                   const std::string& pool);

// The settings as text.
std::string SettingsOf(const ImportedPool& pool, std::string_view source);

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_IMPORT_H_
