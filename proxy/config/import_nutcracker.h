// ImportNutcracker: twemproxy's configuration, a mapping of pools.
#ifndef ERS_PROXY_CONFIG_IMPORT_NUTCRACKER_H_
#define ERS_PROXY_CONFIG_IMPORT_NUTCRACKER_H_

#include <string>
#include <vector>

#include "config/imported_pool.h"
#include "ers/status.h"

namespace ers::proxy {

// kInvalidArgument names the file and the place at fault, of the file or, in
// the pool itself, of one pool.
Result<std::vector<ImportedPool>> ImportNutcracker(const std::string& file);

}  // namespace ers::proxy

#endif  // ERS_PROXY_CONFIG_IMPORT_NUTCRACKER_H_
