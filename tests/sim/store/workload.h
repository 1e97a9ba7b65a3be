// Workload: what the simulated clients do, and the answers, written
// into a History.
#ifndef ERS_TESTS_SIM_STORE_WORKLOAD_H_
#define ERS_TESTS_SIM_STORE_WORKLOAD_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "net/task.h"
#include "sim/history/checker.h"
#include "sim/history/history.h"
#include "sim/store/client_process.h"

namespace ers::sim {

// One thread. Outlives the tasks it gives.
class Workload {
 public:
  // `trace`: prints every outcome that is not the usual one.
  Workload(World& world, const Scenario& scenario, bool trace)
      : world_(world), scenario_(scenario), trace_(trace) {}

  // Random operations of one client, one after the other, until the run's
  // operations are used up.
  net::Task<void> Run(ClientProcess& process, int client);
  // What is there is packed, also what is packed already.
  net::Task<void> Pack(ClientProcess& process);
  // One GET of every key.
  net::Task<void> ReadAll(ClientProcess& process, int client);

  [[nodiscard]] const History& history() const { return history_; }
  // What a GET showed that no change can have written.
  [[nodiscard]] const std::vector<Violation>& violations() const {
    return violations_;
  }
  // Clients that have not ended.
  [[nodiscard]] int running() const;
  // It was killed: its clients never end.
  void Forget(const ClientProcess* process);
  [[nodiscard]] int operations_left() const {
    return scenario_.operations - started_;
  }

 private:
  net::Task<void> One(ClientProcess& process, int client,
                      const std::string& key);
  // The operation's options and its number of cells, drawn.
  PutOptions DrawPut(std::size_t* cells);
  // Unix seconds, 0 never: the next second that begins, or one that is far.
  std::int64_t DrawExpiry(std::uint64_t one_in);
  void NoteExpiry(std::uint32_t id, std::int64_t expiry);
  net::Task<void> Put(store::Store& store, int client, const std::string& key);
  net::Task<void> PutIf(store::Store& store, int client, const std::string& key,
                        OperationKind kind);
  net::Task<void> Cas(store::Store& store, int client, const std::string& key);
  net::Task<void> Get(store::Store& store, int client, const std::string& key);
  net::Task<void> Update(store::Store& store, int client,
                         const std::string& key);
  net::Task<void> Append(store::Store& store, int client,
                         const std::string& key);
  net::Task<void> Touch(store::Store& store, int client,
                        const std::string& key);
  net::Task<void> Flush(store::Store& store, int client);
  net::Task<void> Verify(store::Session& session, int client,
                         const std::string& key);
  net::Task<void> Export(store::Store& store, int client,
                         const std::string& key);
  net::Task<void> Delete(store::Store& store, int client,
                         const std::string& key);
  net::Task<void> Transition(store::Store& store, int client,
                             const std::string& key);
  std::vector<std::byte> Bytes(std::uint32_t id, std::size_t cells) const;
  Cells CellsOf(std::uint32_t id, const std::string& key,
                std::span<const std::byte> bytes);
  [[nodiscard]] TimePoint ExpiryOf(const ObjectInfo& info) const;
  void EndChange(std::uint32_t id, const Status& status);

  // What a read showed.
  struct Seen {
    std::uint64_t cas = 0;
    Cells cells;
  };

  World& world_;
  const Scenario& scenario_;
  const bool trace_;
  History history_;
  std::vector<Violation> violations_;
  std::map<std::string, std::deque<Seen>> seen_;  // of each key, newest last
  std::map<const ClientProcess*, int> running_;   // clients
  // Values that are being packed.
  std::map<const ClientProcess*, std::vector<std::uint32_t>> packing_;
  int started_ = 0;
};

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_STORE_WORKLOAD_H_
