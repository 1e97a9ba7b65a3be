#include "store/fill.h"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "store/batch.h"
#include "store/keys.h"
#include "store/planted_bug.h"
#include "store/store.h"
#include "store/view_changer.h"

namespace ers::store {
namespace {

using net::Task;

// Whoever evicts as fast as it is filled is never full.
constexpr int kMostPasses = 10;

// What cannot be read any more is no reason to keep a member out.
bool IsLost(const Status& status) {
  return status.code() == StatusCode::kNotFound ||
         status.code() == StatusCode::kCorruption;
}

// One look at all objects.
class Pass {
 public:
  Pass(Store& store, Session& session, int member, const FillTerms& terms)
      : store_(store), session_(session), member_(member), terms_(terms) {}

  Task<Status> Run() {
    Status status = co_await ListKeys();
    if (!status.ok()) co_return status;
    net::Latch latch(session_.runtime(), terms_.parallel);
    for (int i = 0; i < terms_.parallel; ++i) net::Spawn(Work(latch));
    co_await latch;
    if (status_.ok() && Stopped()) {
      status_ = Status(StatusCode::kUnavailable, "the filling was stopped");
    }
    co_return std::move(status_);
  }

  [[nodiscard]] const FillReport& report() const { return report_; }

 private:
  bool Stopped() const {
    return terms_.stop != nullptr && terms_.stop->stopped();
  }
  void Note(const Status& failure) {
    // A plain client's item, or one that an export has made, is whole as it is.
    if (failure.code() == StatusCode::kNotManaged) return;
    if (IsLost(failure)) {
      ++report_.lost;
    } else if (status_.ok()) {
      status_ = failure;
    }
  }
  Task<Status> ListKeys() {
    ListTerms list;
    list.stop = terms_.stop;
    list.unreadable = [this](std::string_view, const Status& failure) {
      Note(failure);
    };
    const std::function<bool(const ListedObject&)> note =
        [this](const ListedObject& object) {
          keys_.push_back(object.manifest->key);
          return true;
        };
    Status status = co_await store_.ListObjects(list, note);
    co_return status.ok() ? status_ : status;
  }
  Task<void> Work(net::Latch& latch) {
    while (next_ < keys_.size() && status_.ok() && !Stopped()) {
      const std::string& key = keys_[next_++];
      const Result<Mended> mended = co_await store_.Mend(key, member_);
      if (!mended) {
        Note(mended.error());
        continue;
      }
      report_.objects += mended->settled || mended->blocks > 0 ? 1 : 0;
      report_.blocks += static_cast<std::uint64_t>(mended->blocks);
    }
    latch.CountDown();
  }

  Store& store_;
  Session& session_;
  const int member_;
  const FillTerms& terms_;
  std::vector<std::string> keys_;
  std::size_t next_ = 0;
  FillReport report_;
  Status status_;
};

// This loop's link was refused until now, and is tried again. Where it is
// refused still, the member came back once more.
Task<Status> AwaitLink(Session& session, int member) {
  net::Request ask;
  ask.verb = net::Verb::kHead;
  ask.key = kViewKey;
  ask.uncounted = true;
  Batch batch(session.runtime());
  batch.Submit(session.link(member), ask);
  co_await batch;
  if (net::Answered(ask.outcome)) co_return Status();
  Status status(StatusCode::kUnavailable, session.Describe(member));
  (void)co_await MarkDown(session, member, session.link(member).last_error());
  co_return status;
}

}  // namespace

Task<Result<FillReport>> Store::Fill(int member, const FillTerms& terms) {
  Status status = co_await EnsureView(session_, 0);
  if (!status.ok()) co_return Fail(std::move(status));
  FillReport all;
  if (session_.view()->members[member].state == MemberState::kFull) {
    co_return all;
  }
  status = co_await BeginFilling(session_, member);
  if (status.ok()) status = co_await AwaitLink(session_, member);
  if (!status.ok()) co_return Fail(std::move(status));
  const std::uint64_t incarnation =
      session_.view()->members[member].incarnation;
  for (int i = 0; i < kMostPasses; ++i) {
    Pass pass(*this, session_, member, terms);
    if (!Planted(PlantedBug::kFullAtOnce)) status = co_await pass.Run();
    if (!status.ok()) co_return Fail(std::move(status));
    all.objects += pass.report().objects;
    all.blocks += pass.report().blocks;
    all.lost = pass.report().lost;
    if (pass.report().objects > 0) continue;
    status = co_await EndFilling(session_, member, incarnation);
    if (!status.ok()) co_return Fail(std::move(status));
    co_return all;
  }
  co_return Fail(StatusCode::kUnavailable,
                 fmt::format("{} loses what it is filled with: give it more "
                             "memory (-m)",
                             session_.member_name(member)));
}

}  // namespace ers::store
