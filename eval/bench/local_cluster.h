// Real memcached processes on this machine, for the length of a benchmark.
#ifndef ERS_EVAL_BENCH_LOCAL_CLUSTER_H_
#define ERS_EVAL_BENCH_LOCAL_CLUSTER_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "ers/status.h"

namespace ers::bench {

// Processes started by Start; the destructor stops these and no others, by
// pid. They are in process groups of their own, so that Ctrl-C reaches the
// benchmark alone, and die with it where it is killed outright. One thread,
// the one that called Start, which must outlive the object.
class LocalCluster {
 public:
  LocalCluster() = default;
  LocalCluster(LocalCluster&& other) noexcept;
  LocalCluster& operator=(LocalCluster&& other) noexcept;
  ~LocalCluster();

  // `program -t 1 -I 8m -m 1024`, `count` times, on loopback ports that each
  // process chose free itself. Returns when all of them listen. kUnavailable
  // says what is missing, or which server did not come up.
  static Result<LocalCluster> Start(const std::string& program, int count);

  // "127.0.0.1:port,..." in order of start.
  [[nodiscard]] std::string servers() const;

 private:
  void Stop();

  std::vector<pid_t> pids_;
  std::vector<int> ports_;
};

}  // namespace ers::bench

#endif  // ERS_EVAL_BENCH_LOCAL_CLUSTER_H_
