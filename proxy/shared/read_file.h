// Reading a whole file by its name, which may be the name of something else.
#ifndef ERS_PROXY_SHARED_READ_FILE_H_
#define ERS_PROXY_SHARED_READ_FILE_H_

#include <cstddef>
#include <string>

#include "ers/status.h"

namespace ers::proxy {

// Does not wait for the writer of a pipe. kInvalidArgument says why it cannot
// be read, without its name.
Result<std::string> ReadRegularFile(const std::string& path,
                                    std::size_t max_bytes);

}  // namespace ers::proxy

#endif  // ERS_PROXY_SHARED_READ_FILE_H_
