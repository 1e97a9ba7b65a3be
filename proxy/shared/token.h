// Tokens: what a client that may use an admin port knows.
#ifndef ERS_PROXY_SHARED_TOKEN_H_
#define ERS_PROXY_SHARED_TOKEN_H_

#include <string>
#include <string_view>

#include "ers/status.h"

namespace ers::proxy {

// Shorter ones could be guessed, longer ones are some other file.
inline constexpr std::size_t kMinTokenBytes = 16;
inline constexpr std::size_t kMaxTokenBytes = 1024;

// The one line of a file: kMinTokenBytes to kMaxTokenBytes letters, digits and
// marks, without blanks. kInvalidArgument, without the token: it cannot be read
// or is not such a file, or others than its owner and its group can read it, or
// others than its owner can write it. Any thread.
Result<std::string> ReadToken(const std::string& file);

// Takes as long for every `given` of a length: it is a stranger's.
bool SameToken(std::string_view token, std::string_view given);

}  // namespace ers::proxy

#endif  // ERS_PROXY_SHARED_TOKEN_H_
