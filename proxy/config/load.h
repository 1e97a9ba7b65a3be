// LoadOptions: a configuration file as options, by the table of settings.h.
#ifndef ERS_PROXY_CONFIG_LOAD_H_
#define ERS_PROXY_CONFIG_LOAD_H_

#include <string>

#include "config/options.h"

namespace ers::proxy {

// What the file does not set has its default. kInvalidArgument names the file,
// the line, the setting and what is allowed. The options are not complete yet:
// CompleteOptions. Any thread.
Result<ServerOptions> LoadOptions(const std::string& file);

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_LOAD_H_
