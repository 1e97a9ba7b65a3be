// ImportMcrouter: mcrouter's configuration, named pools and a tree of routes
// over them.
#ifndef ERS_PROXY_CONFIG_IMPORT_MCROUTER_H_
#define ERS_PROXY_CONFIG_IMPORT_MCROUTER_H_

#include <string>
#include <string_view>
#include <vector>

#include "config/imported_pool.h"
#include "ers/status.h"

namespace ers::proxy {

// kInvalidArgument names the file and the place at fault, of the file or, in
// the pool itself, of one pool.
// The text may hold comments, as mcrouter's files may.
Result<std::vector<ImportedPool>> ImportMcrouter(const std::string& file,
                                                 std::string_view text);

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_IMPORT_MCROUTER_H_
