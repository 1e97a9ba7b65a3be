// Contenders: the ways of holding a value that the benchmark compares.
#ifndef ERS_EVAL_BENCH_CONTENDER_H_
#define ERS_EVAL_BENCH_CONTENDER_H_

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ers/scheme.h"
#include "ers/status.h"

namespace ers::bench {

enum class Case { kPut, kGet, kUpdate, kForward, kBackward };
inline constexpr std::array kAllCases = {Case::kPut, Case::kGet, Case::kUpdate,
                                         Case::kForward, Case::kBackward};
std::string_view CaseName(Case c);  // "put", "get", ...

// One of the keys that the benchmark goes round. The number also picks the
// first server where no ring does.
struct Key {
  std::size_t number = 0;
  std::string text;
};

struct Range {
  std::size_t offset = 0;
  std::size_t length = 0;
};

// One implementation with warm connections of its own. The runner times
// exactly the calls of Put, Get, Update and Transition. One thread.
class Contender {
 public:
  virtual ~Contender() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  // For the `scheme` column.
  [[nodiscard]] virtual std::string scheme() const = 0;
  // Whether the case says something about this contender. The runner also
  // calls Put and Update where not, untimed, to keep contents alike.
  [[nodiscard]] virtual bool Measures(Case c) const = 0;

  // Leaves the value narrow where there are widths.
  virtual Status Put(const Key& key, std::span<const std::byte> value) = 0;
  // The value, valid until Release or the next Get.
  virtual Result<std::span<const std::byte>> Get(const Key& key) = 0;
  // `value` is the whole new value, which differs from the old in `range`.
  virtual Status Update(const Key& key, std::span<const std::byte> value,
                        Range range) = 0;
  // Called only where Measures(kForward).
  virtual Status Transition(const Key& key, Width to) = 0;

  // Frees what the last Get allocated.
  virtual void Release() = 0;
  virtual Status Remove(const Key& key) = 0;
};

// What contenders are made from.
struct Field {
  std::string servers;  // as ers::ClusterOptions::servers
  Scheme scheme;        // validated
  // Of the cluster; 0 where given servers decide.
  int max_failures = 0;
};

// Names in print order: libers, libers-reuse, columns, bare, bare-columns,
// plain, copies, rep, one-by-one, srs, reencode.
std::vector<std::string> ContenderNames();

// nullptr where the field has no such contender (columns, srs and reencode of a
// scheme that is not elastic, one-by-one of replication). kInvalidArgument: no
// such name, or the servers cannot be parsed.
Result<std::unique_ptr<Contender>> MakeContender(std::string_view name,
                                                 const Field& field);

}  // namespace ers::bench

#endif  // ERS_EVAL_BENCH_CONTENDER_H_
