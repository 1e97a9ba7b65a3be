// What a listing is asked for.
#ifndef ERS_LIST_H_
#define ERS_LIST_H_

#include <functional>
#include <string_view>

#include "ers/status.h"

namespace ers {

struct ListOptions {
  // Whether to list the object of this key; empty: all. The manifests of others
  // are not read.
  std::function<bool(std::string_view key)> wanted;
  // Takes the key of each object whose manifest cannot be read, and why, and
  // the listing goes on. Empty: the first one ends it.
  std::function<void(std::string_view key, const Status& why)> unreadable;
};

}  // namespace ers

#endif  // ERS_LIST_H_
