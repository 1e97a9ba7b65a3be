// The baselines' way to memcached: libmemcached, one blocking request at a
// time.
#ifndef ERS_EVAL_BENCH_PLAIN_CLIENT_H_
#define ERS_EVAL_BENCH_PLAIN_CLIENT_H_

#include <libmemcached/memcached.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ers/status.h"

namespace ers::bench {

// A value as memcached_get hands it out, in memory of its own.
struct Fetched {
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> data;
  std::size_t size = 0;
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {reinterpret_cast<const std::byte*>(data.get()), size};
  }
};

// One libmemcached handle per server, so that the caller says which server
// and nothing is hashed. Text protocol, blocking, unbuffered, TCP_NODELAY.
// One thread.
class PlainClient {
 public:
  // "host:port[:weight],[IPv6]:port,/unix/socket,...", as ers::ClusterOptions.
  // Connects on first use. kInvalidArgument quotes the server at fault.
  static Result<std::unique_ptr<PlainClient>> Open(std::string_view servers);

  [[nodiscard]] std::size_t server_count() const { return handles_.size(); }

  // Returns when the server has said STORED; any other word is an error that
  // names the server.
  Status Set(std::size_t server, std::string_view key,
             std::span<const std::byte> value);
  // kNotFound on a miss.
  Result<Fetched> Get(std::size_t server, std::string_view key);
  // OK also where there was nothing.
  Status Delete(std::size_t server, std::string_view key);

 private:
  struct Close {
    void operator()(memcached_st* handle) const { memcached_free(handle); }
  };
  using Handle = std::unique_ptr<memcached_st, Close>;

  PlainClient() = default;
  Status Add(std::string_view server);
  [[nodiscard]] Status Failure(std::size_t server, std::string_view verb,
                               memcached_return_t code) const;

  std::vector<Handle> handles_;
  std::vector<std::string> names_;
};

}  // namespace ers::bench

#endif  // ERS_EVAL_BENCH_PLAIN_CLIENT_H_
