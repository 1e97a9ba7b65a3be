// RealMemcached: one real memcached on a unix socket of its own, to hold the
// model against.
#ifndef ERS_TESTS_SIM_WORLD_REAL_MEMCACHED_H_
#define ERS_TESTS_SIM_WORLD_REAL_MEMCACHED_H_

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace ers::sim {

// Started by the constructor, killed by the destructor. One thread.
class RealMemcached {
 public:
  // `arguments` are appended to the command line.
  explicit RealMemcached(const std::vector<std::string>& arguments = {});
  ~RealMemcached();
  RealMemcached(const RealMemcached&) = delete;
  RealMemcached& operator=(const RealMemcached&) = delete;

  // Empty, or why it could not be started.
  [[nodiscard]] const std::string& error() const { return error_; }
  // Sends all of `bytes` and reads until `reply_bytes` are there or nothing
  // comes for `patience`.
  std::string Ask(std::string_view bytes, std::size_t reply_bytes,
                  std::chrono::milliseconds patience);

 private:
  [[nodiscard]] bool Connect();

  std::string folder_;
  std::string error_;
  pid_t pid_ = -1;
  int socket_ = -1;
};

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_WORLD_REAL_MEMCACHED_H_
