// CopyRead: one copy of a key's manifest, for a read: the primary's, or
// another replica's where the primary is late
// (docs/internals/hedged-reads.md#manifests).
#ifndef ERS_STORE_REPLICAS_COPY_READ_H_
#define ERS_STORE_REPLICAS_COPY_READ_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/recycled.h"
#include "net/request.h"
#include "net/task.h"
#include "store/replicas/abandoned_read.h"
#include "store/replicas/replica_copy.h"
#include "store/replicas/replica_key.h"
#include "store/replicas/replica_reader.h"
#include "store/support/alarms.h"

namespace ers::store {

// It ends with the first answer that decides what is read, or when the replica
// that was asked first has answered and decides nothing. What is on its way
// then is abandoned. Loop thread only.
class CopyRead : private Alarm {
 public:
  // `key` and `reader` outlive it. `plain`: what plain items count for.
  CopyRead(const ReplicaKey& key, const ReplicaReader& reader, PlainItems plain,
           const PrimaryTerms& terms);
  ~CopyRead();

  // Begins, also once more; to be awaited then. kUnavailable: no replica is in.
  Status Start();
  auto operator co_await() { return going_.operator co_await(); }
  // In place of awaiting it, before the first Start: called at that one's end,
  // by the loop. May destroy this.
  void OnEnd(void (*call)(void* context), void* context) {
    on_end_ = call;
    on_end_context_ = context;
  }

  // After it: what is decided, the manifest or why there can be none. Empty
  // where no replica answered under this view, where it has nothing, and where
  // its change is not known to be committed: all of them may know more.
  [[nodiscard]] std::optional<Result<ShownManifest>> TakeAnswer();
  // Once there is an answer or none: the items that came are read no more.
  void FreeBytes();
  // Of the request that decided, or was the first.
  [[nodiscard]] const net::Request& request() const {
    return decides_->request;
  }
  [[nodiscard]] std::int64_t asked_us() const { return decides_->asked_us; }
  // The replica that was asked first, and whether it did not answer.
  [[nodiscard]] int member() const { return member_; }
  [[nodiscard]] bool silent() const { return silent_; }
  [[nodiscard]] bool UnderThisView() const;
  [[nodiscard]] const PrimaryTerms& terms() const { return terms_; }

 private:
  // One replica.
  struct Asked : Recycled {
    CopyRead* read = nullptr;
    std::string key;  // the request's, once nothing waits for it
    bool at_primary = true;
    std::int64_t asked_us = 0;  // Unix
    PatientWait wait;
    net::Request request;
    bool under_way = false;
  };

  [[nodiscard]] int First() const;
  [[nodiscard]] std::optional<int> Another() const;
  [[nodiscard]] std::unique_ptr<Asked> Prepare(int member) const;
  void Ask(int member);
  void Probe(int member) const;
  void OnDone(Asked& asked);
  void SetAlarm();
  void OnAlarm();
  void Hedge();
  [[nodiscard]] std::optional<Result<ShownManifest>> AnswerOf(
      const Asked& asked) const;
  void EndIfDone();

  const ReplicaKey& key_;
  const ReplicaReader& reader_;
  const PlainItems plain_;
  const PrimaryTerms terms_;
  std::shared_ptr<const View> view_;
  std::optional<Replicas> replicas_;
  std::size_t bytes_ = 0;  // of a value that the manifest has, where known
  int member_ = -1;
  std::vector<std::unique_ptr<Asked>> asked_;  // the first one first
  std::optional<Result<ShownManifest>> answer_;
  const Asked* decides_ = nullptr;  // which one decided, or is the first
  bool silent_ = false;
  bool hedged_ = false;
  net::Latch going_;
  void (*on_end_)(void* context) = nullptr;
  void* on_end_context_ = nullptr;
};

}  // namespace ers::store

#endif  // ERS_STORE_REPLICAS_COPY_READ_H_
