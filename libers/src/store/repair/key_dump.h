// Walking the keys of servers: memcached's metadump.
#ifndef ERS_STORE_REPAIR_KEY_DUMP_H_
#define ERS_STORE_REPAIR_KEY_DUMP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/task.h"
#include "store/membership/session.h"
#include "store/repair/listing.h"

namespace ers::store {

// An item, as its server lists it.
struct DumpedItem {
  int member = 0;
  std::string_view key;
  // Unix seconds by the server's clock.
  std::int64_t expiry = -1;  // -1: never
  std::int64_t last_access = 0;
  std::uint64_t bytes = 0;  // that it takes there, its key and header included
};

struct KeyDump {
  // Members that are not in sync, or did not list all that they hold, each
  // once.
  int silent = 0;
  std::vector<std::string> why;  // of those that were asked, and did not
  std::vector<int> refused;      // of those, with another memory by now
};

// Asks every member that is not down in `view`, over a connection of its own,
// for all its keys, and shows each to `visit` (which may not wait). A member
// that lists for another client is asked again, until as many as `needed` that
// are in sync have listed theirs, for the operation_timeout at most. `stop`
// (null: none) ends it early. What a member showed before it failed was
// shown.
net::Task<KeyDump> DumpKeys(
    Session& session, std::shared_ptr<const View> view, int needed,
    StopToken* stop, const std::function<void(const DumpedItem&)>& visit);

// The key of the manifest that a member has under a hashed name; empty where it
// has none. kUnavailable: it does not answer.
net::Task<Result<std::string>> KeyBehind(Session& session, int member,
                                         std::string_view hashed_name);

}  // namespace ers::store

#endif  // ERS_STORE_REPAIR_KEY_DUMP_H_
