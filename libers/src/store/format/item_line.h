// Lines in which memcached describes an item: those of its metadump, and of
// "watch evictions". Words of the form name=value, one blank between two.
#ifndef ERS_STORE_FORMAT_ITEM_LINE_H_
#define ERS_STORE_FORMAT_ITEM_LINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ers::store {

// What "key" says, which is escaped as in URLs; empty: nothing.
std::string KeyOfLine(std::string_view line);

// Empty: there is no such word, or it is not a number.
std::optional<std::int64_t> FieldOfLine(std::string_view line,
                                        std::string_view name);

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_ITEM_LINE_H_
