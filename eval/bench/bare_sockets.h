// Items of memcached over bare sockets: as fast as bytes can be had, with
// nothing checked or computed. What else reads and writes the same items is
// measured beside it.
#ifndef ERS_EVAL_BENCH_BARE_SOCKETS_H_
#define ERS_EVAL_BENCH_BARE_SOCKETS_H_

#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ers/status.h"

namespace ers::bench {

// An item on one server, whose bytes are in pieces of the caller's memory.
struct BareItem {
  std::size_t server = 0;
  std::string key;
  std::vector<iovec> pieces;  // read from by Set, filled by Get
};

// One connection to each server, with TCP_NODELAY. A call sends what it asks of
// a server in one piece, all servers at once, and reads bytes to where they
// belong. After an error the connections are opened anew. One thread.
class BareSockets {
 public:
  // "IPv4:port,[IPv6]:port,/unix/socket,...", no names of hosts. Connects on
  // first use. kInvalidArgument quotes the server at fault.
  static Result<std::unique_ptr<BareSockets>> Open(std::string_view servers);
  ~BareSockets();

  [[nodiscard]] std::size_t server_count() const;

  // Items of one server go and come in their order. kNotFound: one of those to
  // get or delete is not there. kUnavailable: a server is silent for 5 s, or
  // has said something else, as of an item of another size.
  Status Set(const std::vector<BareItem>& items);
  Status Get(const std::vector<BareItem>& items);
  Status Delete(const std::vector<BareItem>& items);

 private:
  class Connection;
  enum class Verb { kSet, kGet, kDelete };

  BareSockets();
  Status Exchange(Verb verb, const std::vector<BareItem>& items);
  // Until all is sent and read.
  Status Carry();

  std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace ers::bench

#endif  // ERS_EVAL_BENCH_BARE_SOCKETS_H_
