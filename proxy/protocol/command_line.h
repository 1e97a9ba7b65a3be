// ParseCommandLine: a line of the text or meta protocol as a ClientRequest.
#ifndef ERS_PROXY_PROTOCOL_COMMAND_LINE_H_
#define ERS_PROXY_PROTOCOL_COMMAND_LINE_H_

#include <cstdint>
#include <limits>
#include <string_view>

#include "protocol/parsed.h"
#include "protocol/request.h"
#include "protocol/words.h"

namespace ers::proxy {

// `line` is without its line end. `request` must be as constructed; it is
// unspecified after an error. Errors are those of memcached 1.6.18, word for
// word, but for commands that only this proxy has or refuses. Any thread.
[[nodiscard]] Parsed ParseCommandLine(std::string_view line,
                                      const Limits& limits,
                                      ClientRequest& request);

// The bytes of the word that make a line a get with keys: such a line may be
// of any length. `line` may be its beginning only.
[[nodiscard]] bool IsGetLine(std::string_view line);

// The \r\n behind a value.
inline constexpr std::uint64_t kLineEndBytes = 2;
// memcached counts a value and its line end in an int.
inline constexpr std::uint64_t kMaxValueLength =
    std::numeric_limits<std::int32_t>::max() - kLineEndBytes;

// The length of a value to come. False: none, or too long to be one.
[[nodiscard]] bool ParseLength(std::string_view word, std::uint64_t& length);

// Commands by family; each takes lines that begin with its own words only.
[[nodiscard]] Parsed ParseMeta(const Words& words, const Limits& limits,
                               ClientRequest& request);
[[nodiscard]] Parsed ParseErs(std::string_view line, const Words& words,
                              const Limits& limits, ClientRequest& request);

}  // namespace ers::proxy

#endif  // ERS_PROXY_PROTOCOL_COMMAND_LINE_H_
