// What a server answers to "stats": lines of "STAT name word".
#ifndef ERS_NET_STAT_LINES_H_
#define ERS_NET_STAT_LINES_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace ers::net {

// The word behind "STAT name " in `lines`, each of which ends with '\n'.
std::optional<std::string_view> Stat(std::string_view lines,
                                     std::string_view name);
std::optional<std::uint64_t> StatNumber(std::string_view lines,
                                        std::string_view name);

}  // namespace ers::net

#endif  // ERS_NET_STAT_LINES_H_
