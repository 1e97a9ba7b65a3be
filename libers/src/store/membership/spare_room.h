// SpareRoom: room for the records that a cluster needs to go on, on servers
// that are full and do not evict (-M).
//
// To replace an item memcached first takes memory for the new one, of the slab
// class of its size; where values have filled that class it is refused, and
// with it a change of the view, or a heartbeat. So each server keeps items
// without a use beside a record, of its size and, as records grow, of the
// next class. Where a record is refused, two are deleted, the record is written
// and they are set again, in one go on one connection: what the old record
// gives back is taken at once.
#ifndef ERS_STORE_MEMBERSHIP_SPARE_ROOM_H_
#define ERS_STORE_MEMBERSHIP_SPARE_ROOM_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "net/request.h"
#include "net/server_link.h"
#include "net/task.h"
#include "store/membership/send.h"

namespace ers::store {

class Session;

// What one session knows of the room that its servers keep. Loop thread only.
class SpareRoom {
 public:
  // Is there, as far as is known, room beside a record of so many bytes?
  [[nodiscard]] bool Has(const net::ServerLink& link, std::string_view record,
                         std::size_t bytes) const;
  // It was probed, and found or taken: for a record up to so many bytes.
  void Note(const net::ServerLink& link, std::string_view record,
            std::size_t bytes);
  void Forget(const net::ServerLink& link, std::string_view record);
  // True the first time, until there is room again: a server has none.
  bool Complain(int member);

  // Room that is to be taken beside a record: on few servers at a time, as that
  // beside a record of many members is more than a megabyte each.
  struct Wanted {
    int member = 0;
    std::string_view record;
    std::size_t bytes = 0;
  };
  // True: the caller is to take what Next says until there is none.
  bool Want(const Wanted& room);
  std::optional<Wanted> Next();

 private:
  struct Known {
    std::uint64_t connection = 0;
    std::size_t bytes = 0;
  };
  using Place = std::pair<int, std::string>;  // member, record
  std::map<Place, Known> known_;
  std::deque<Wanted> wanted_;
  int takers_ = 0;
  std::map<int, bool> complained_;
};

// Sends `write`, a kCas of one of the cluster's records, or a kSet of what is
// not there, and, where the server
// has no memory for it, once more for each spare item that makes room. `behind`
// is sent behind each, on the same connection, if not null. Both are filled in
// but for batch fields.
net::Task<void> WriteRecord(Session& session, SendStep step,
                            net::ServerLink& link, net::Request& write,
                            net::Request* behind);

// Has the server keep room beside a record of so many bytes, `record` being a
// constant (kEntryPrefix: all entries): in the background, and only where it
// does not evict and that is not known to be so.
void KeepRoom(Session& session, net::ServerLink& link, std::string_view record,
              std::size_t bytes);

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_SPARE_ROOM_H_
