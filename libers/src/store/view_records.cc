#include "store/view_records.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "store/batch.h"
#include "store/keys.h"
#include "store/wakeup.h"

namespace ers::store {
namespace {

using net::Outcome;
using net::Task;

struct Reading {
  ViewRecords records;
  Status failure;
  int left = 0;
  std::shared_ptr<Wakeup> enough;
};

void Note(Session& session, int member, const net::Request& request,
          Reading& reading) {
  if (request.outcome == Outcome::kMiss) {
    ++reading.records.answered;
    return;
  }
  if (request.outcome != Outcome::kOk) {
    reading.records.silent +=
        (reading.records.silent.empty() ? "" : "; ") + session.Describe(member);
    return;
  }
  Result<View> view = DecodeView(request.value);
  if (view) {
    ++reading.records.answered;
    std::optional<View>& best = reading.records.best;
    if (!best || best->epoch < view->epoch) best = std::move(*view);
  } else if (view.error().code() == StatusCode::kUnsupportedFormat) {
    reading.failure =
        Status(view.error().code(),
               session.member_name(member) + ": " + view.error().message());
  } else {
    // An empty stub or a broken record is as good as none.
    ++reading.records.answered;
  }
}

Task<void> ReadOne(Session& session, int member,
                   std::shared_ptr<Reading> reading) {
  net::Request request;
  request.verb = net::Verb::kGet;
  request.key = kViewKey;
  Batch batch(session.runtime());
  batch.Submit(session.link(member), request);
  co_await batch;
  Note(session, member, request, *reading);
  const std::optional<View>& best = reading->records.best;
  const bool enough = best && reading->records.answered >= best->Quorum();
  if (--reading->left == 0 || enough) reading->enough->Callback()();
}

// Who took a record, and why others did not.
struct Held {
  int count = 0;
  std::string silent;

  void Miss(const Session& session, int member) {
    if (!silent.empty()) silent += "; ";
    silent += session.Describe(member);
  }
};

// Replaces the record on one member.
Task<void> StoreOne(Session& session, int member, const std::string& text,
                    std::uint64_t epoch, Held& held,
                    std::optional<View>& newer) {
  net::Request read;
  read.verb = net::Verb::kVivify;
  read.key = kViewKey;
  read.exptime = 0;
  Batch batch(session.runtime());
  batch.Submit(session.link(member), read);
  co_await batch;
  if (read.outcome != Outcome::kOk && read.outcome != Outcome::kCreated) {
    held.Miss(session, member);
    co_return;
  }
  Result<View> there = DecodeView(read.value);
  if (there && there->epoch >= epoch) {
    if (!newer || newer->epoch < there->epoch) newer = std::move(*there);
    co_return;
  }
  const iovec body{const_cast<char*>(text.data()), text.size()};
  net::Request write;
  write.verb = net::Verb::kCas;
  write.key = kViewKey;
  write.token = read.item_token;
  write.only_connection = read.connection;
  write.body = {&body, 1};
  batch.Submit(session.link(member), write);
  co_await batch;
  if (write.outcome == Outcome::kOk) {
    ++held.count;
  } else {
    held.Miss(session, member);
  }
}

Task<void> StoreOnLatch(Task<void> store, net::Latch& latch) {
  co_await std::move(store);
  latch.CountDown();
}

}  // namespace

Task<Result<ViewRecords>> ReadViewRecords(Session& session) {
  auto reading = std::make_shared<Reading>();
  reading->left = session.members();
  reading->enough = Wakeup::New(session.runtime());
  const std::shared_ptr<Wakeup> enough = reading->enough;
  for (int i = 0; i < session.members(); ++i) {
    session.Detach(ReadOne(session, i, reading));
  }
  // Every request has a deadline of its own; this one is out of reach.
  co_await enough->Wait(session.cluster().options.operation_timeout);
  if (!reading->failure.ok()) co_return Fail(reading->failure);
  co_return reading->records;
}

Task<Status> StoreViewRecord(Session& session, const View& view,
                             std::optional<View>& newer) {
  const std::string text = EncodeView(view);
  Held held;
  net::Latch latch(session.runtime());
  for (int i = 0; i < session.members(); ++i) {
    if (view.members[i].state == MemberState::kDown) continue;
    latch.Add();
    net::Spawn(StoreOnLatch(StoreOne(session, i, text, view.epoch, held, newer),
                            latch));
  }
  co_await latch;
  if (newer) {
    co_return Status(StatusCode::kUnavailable,
                     "another process changed the view at the same time");
  }
  if (held.count < view.Quorum()) {
    co_return Status(
        StatusCode::kUnavailable,
        fmt::format("only {} of the {} servers needed took the new view ({}): "
                    "bring one back",
                    held.count, view.Quorum(), held.silent));
  }
  co_return Status();
}

}  // namespace ers::store
