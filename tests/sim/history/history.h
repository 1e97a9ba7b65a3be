// History: what the clients of a run asked for, when, and what the answers
// were.
//
// Values are known by their writers. A driver stores values of a fixed number
// of cells (any bytes; a cell may be a block's worth); a PUT writes its own
// operation number into every cell (so do a CAS, an ADD and a REPLACE, which
// are puts under a condition), an UPDATE into a range of them, an APPEND into
// further ones, and a GET hands back the numbers it found. So a mix of two
// values, a change applied twice and a change out of nowhere all show.
#ifndef ERS_TESTS_SIM_HISTORY_HISTORY_H_
#define ERS_TESTS_SIM_HISTORY_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/runtime.h"

namespace ers::sim {

using net::TimePoint;

enum class OperationKind : std::uint8_t {
  kPut,
  kUpdate,
  kGet,
  kDelete,
  kTransition,  // and any change that keeps the content: repair
  kAppend,
  kExport,   // keeps the content, too
  kCas,      // a put over one content
  kAdd,      // a put where there is nothing
  kReplace,  // a put where there is something
  kTouch,    // another expiry
  kFlush,    // of all keys: its own is empty
  kVerify,   // and repairs; keeps the content
  kPack,     // of no client; keeps the content, and says nothing of it
  kKeep,     // a manifest that a server has taken; likewise: also of a backfill
};
inline constexpr std::size_t kOperationKinds = 15;
std::string_view OperationName(OperationKind kind);
// Is it a put, under whatever condition?
bool PutsWhole(OperationKind kind);
// Is it none of a client's, and no answer to one?
inline bool IsOfNoClient(OperationKind kind) {
  return kind == OperationKind::kPack || kind == OperationKind::kKeep;
}

enum class Ending : std::uint8_t {
  kOpen,      // no answer: under way, or its process was killed
  kAcked,     // done; for kGet: a value was read
  kNotFound,  // there is no object: an observation of a miss
  kFailed,    // it did not happen; a kGet that read nothing
  kUnknown,   // the outcome is unknown
  // There is an object, of another content: an observation, too, of
  // kCas and kAdd.
  kRefused,
};
inline constexpr std::size_t kEndings = 6;

// Number of the operation that wrote each cell; 0 is no operation.
using Cells = std::vector<std::uint32_t>;

struct Operation {
  std::uint32_t id = 0;  // from 1, in the order of Begin
  int client = 0;
  std::string key;
  OperationKind kind = OperationKind::kGet;
  // Puts, kAppend: how many cells. kUpdate: which of them; beyond the end of
  // the value it cannot be acked.
  std::size_t first_cell = 0;
  std::size_t cell_count = 0;
  Cells expected;  // kCas: the content whose CAS it names
  // Puts, kTouch: from then on there is no object.
  TimePoint expires = TimePoint::max();
  // kFlush: what was last changed before is absent from then on, or from when
  // it is done, if that is later. Not later than `invoked`: what is there when
  // it is done.
  TimePoint flush_at{};

  TimePoint invoked{};
  TimePoint returned = TimePoint::max();
  Ending ending = Ending::kOpen;
  // kGet that was acked: what was read. `client_cas` 0: not checked.
  Cells cells;
  std::uint64_t client_cas = 0;
  std::uint64_t attributes = 0;  // flags, hashed by the driver
  std::optional<TimePoint> expiry_read;

  // For puts: what a GET must show with it; 0: not checked.
  std::uint64_t attributes_put = 0;
};

// "put 17 by client 2 [1.5 ms, 2.25 ms] acked".
std::string Describe(const Operation& operation);

// One thread.
class History {
 public:
  // Times are the caller's, from one clock. Returns the operation's number.
  std::uint32_t BeginPut(int client, std::string key, std::size_t cells,
                         TimePoint now, std::uint64_t attributes = 0);
  // kCas, kAdd or kReplace.
  std::uint32_t BeginPutIf(int client, std::string key, OperationKind kind,
                           std::size_t cells, Cells expected, TimePoint now,
                           std::uint64_t attributes = 0);
  std::uint32_t BeginUpdate(int client, std::string key, std::size_t first_cell,
                            std::size_t cell_count, TimePoint now);
  std::uint32_t BeginAppend(int client, std::string key, std::size_t cells,
                            TimePoint now);
  // For puts and kTouch.
  void SetExpiry(std::uint32_t id, TimePoint expires);
  std::uint32_t BeginFlush(int client, TimePoint flush_at, TimePoint now);
  // kGet, kDelete, kTransition, kExport, kTouch, kVerify, kPack or kKeep.
  std::uint32_t Begin(int client, std::string key, OperationKind kind,
                      TimePoint now);
  void End(std::uint32_t id, Ending ending, TimePoint now);
  // The end of a GET that found a value.
  void EndGet(std::uint32_t id, Cells cells, TimePoint now,
              std::uint64_t client_cas = 0, std::uint64_t attributes = 0,
              std::optional<TimePoint> expiry = std::nullopt);

  [[nodiscard]] const std::vector<Operation>& operations() const {
    return operations_;
  }
  [[nodiscard]] const Operation& at(std::uint32_t id) const {
    return operations_[id - 1];
  }

 private:
  std::uint32_t Add(Operation operation);

  std::vector<Operation> operations_;
};

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_HISTORY_HISTORY_H_
