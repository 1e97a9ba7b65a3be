// Base64 of keys that lines of text cannot hold.
#ifndef ERS_PROXY_SHARED_BASE64_H_
#define ERS_PROXY_SHARED_BASE64_H_

#include <string>
#include <string_view>

namespace ers::proxy {

// Appends to `out`, with padding. Any thread.
void AppendBase64(std::string_view bytes, std::string& out);

// False, with `out` unspecified, unless `text` is padded base64 of at least one
// byte. Any thread.
[[nodiscard]] bool DecodeBase64(std::string_view text, std::string& out);

}  // namespace ers::proxy

#endif  // ERS_PROXY_SHARED_BASE64_H_
