#include "server/request_runner.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/quick_hits.h"
#include "engine/quick_stores.h"
#include "store/support/content.h"
#include "store/support/memory.h"

namespace ers::proxy {
namespace {

using net::Task;
using Slot = RequestPipeline::Slot;

// As memcached has it.
constexpr std::uint32_t kMaxVerbosity = 2;
// Of the lines around a value, but for its key: a word, numbers, line ends.
constexpr std::size_t kMaxValueHead = 64;

// A stream's memory: pieces are asked for ahead only while its client keeps up,
// and waited for only when all before has left.
class StreamMemory final : public store::Memory {
 public:
  StreamMemory(ClientStream& stream, MemoryHold& hold)
      : stream_(stream), hold_(hold) {
    hold.SetWaitsFor(WaitsFor::kClient);
    hold.SetFirstInLine();
  }
  bool TryTake(std::uint64_t bytes) override {
    return !stream_.full() && hold_.TryTake(bytes);
  }
  Task<Status> Take(std::uint64_t bytes) override {
    co_await stream_.UntilAllSent();
    co_return co_await hold_.Take(bytes);
  }
  void Give(std::uint64_t bytes) override { hold_.Give(bytes); }

 private:
  ClientStream& stream_;
  MemoryHold& hold_;
};

// A value that is streamed shows the marks that its first read has decided on.
void KeepJudgement(const ItemInfo& judged, ItemInfo& item) {
  item.ttl = judged.ttl;
  item.stale = judged.stale;
  item.won = judged.won;
  item.another_won = judged.another_won;
  item.fetched = judged.fetched;
  item.idle = judged.idle;
}

}  // namespace

void RequestRunner::Get(Slot& slot) {
  if (stream_.full()) slot.memory.SetWaitsFor(WaitsFor::kClient);
  slot.runner = this;
  const auto ended = [](void* context) {
    auto& begun = *static_cast<Slot*>(context);
    begun.runner->OnBegun(begun);
  };
  slot.begun = BeginQuickGet(EngineOf(slot).context(), slot.request,
                             slot.memory, ended, &slot);
  if (slot.begun == nullptr) net::Spawn(GetOn(slot));
}

// Most hits are of short values, which leave with the lines around them.
void RequestRunner::OnBegun(Slot& slot) {
  ItemInfo item;
  std::string_view value;
  const bool hit = EndQuickGet(EngineOf(slot).context(), slot.request,
                               *slot.begun, item, value);
  slot.memory.KeepAtMost(value.size());
  if (!hit) return net::Spawn(GetOn(slot));
  const std::string_view trailer = ValueTrailer(slot.request);
  slot.head.reserve(kMaxValueHead + slot.request.key.size() + value.size());
  AppendValueHeader(slot.request, item, slot.head);
  slot.head += value;
  slot.head += trailer;
  slot.begun.reset();
  pipeline_.End(slot);
}

Task<void> RequestRunner::GetOn(Slot& slot) {
  Gotten gotten =
      co_await EngineOf(slot).Get(slot.request, slot.memory, slot.begun.get());
  slot.begun.reset();
  if (gotten.long_value) {
    co_await StreamLong(slot, gotten.done.reply.item, gotten.counted);
    co_return;
  }
  AnswerGet(slot, std::move(gotten));
}

void RequestRunner::AnswerGet(Slot& slot, Gotten gotten) {
  Reply& reply = gotten.done.reply;
  reply.text = gotten.done.text;
  slot.outcome = reply.outcome;
  slot.created = reply.created;
  if (reply.outcome == ReplyStatus::kDone && slot.request.want_value) {
    AppendValueHeader(slot.request, reply.item, slot.head);
    slot.value = std::move(gotten.value);
    slot.tail = ValueTrailer(slot.request);
  } else {
    AppendReply(slot.request, reply, slot.head);
    if (IsTextGet(slot.request)) slot.text = gotten.done.text;
  }
  pipeline_.End(slot);
}

// Waits until all before it are answered, then sends as the pieces come.
Task<void> RequestRunner::StreamLong(Slot& slot, ItemInfo judged,
                                     bool counted) {
  co_await pipeline_.TurnOf(slot);
  // A value before this one was cut off: whatever follows would be taken for
  // its rest.
  if (stream_.closing()) {
    slot.outcome = ReplyStatus::kClientError;
    pipeline_.End(slot);
    co_return;
  }
  bool begun = false;
  const auto begin = [&](ItemInfo item) {
    KeepJudgement(judged, item);
    std::string head;
    AppendValueHeader(slot.request, item, head);
    stream_.Send(head);
    begun = true;
  };
  StreamMemory memory(stream_, slot.memory);
  const store::AsyncSink sink = [this, &slot](Value piece) {
    return SendPiece(slot, std::move(piece));
  };
  const Status status = co_await EngineOf(slot).Stream(slot.request, counted,
                                                       begin, sink, memory);
  if (status.ok()) {
    slot.tail = ValueTrailer(slot.request);
    pipeline_.End(slot);
  } else if (begun) {
    // A part of a value must not pass for a whole one.
    slot.outcome = stream_.closing() ? ReplyStatus::kClientError
                                     : ReplyStatus::kServerError;
    stream_.Close();
    slot.closes = true;
    pipeline_.End(slot);
  } else if (status.code() == StatusCode::kNotManaged) {
    Gotten plain = co_await EngineOf(slot).GetPlain(slot.request, slot.memory);
    plain.done.reply.item.fetched = judged.fetched;
    plain.done.reply.item.idle = judged.idle;
    AnswerGet(slot, std::move(plain));
  } else {
    AnswerNoStream(slot, status);
  }
}

Task<Status> RequestRunner::SendPiece(Slot& slot, Value piece) {
  stream_.Send(std::move(piece), slot.memory);
  const store::InStep step(slot.steps(), store::RequestStep::kReply);
  co_await stream_.UntilRoom();
  if (stream_.closing()) {
    co_return Status(StatusCode::kUnavailable, "the client left");
  }
  co_return Status();
}

void RequestRunner::AnswerNoStream(Slot& slot, const Status& why) {
  Reply reply;
  reply.outcome = why.code() == StatusCode::kNotFound
                      ? ReplyStatus::kNotFound
                      : ReplyStatus::kServerError;
  reply.text = why.message();
  slot.outcome = reply.outcome;
  AppendReply(slot.request, reply, slot.head);
  if (IsTextGet(slot.request)) slot.text = why.message();
  pipeline_.End(slot);
}

void RequestRunner::Store(Slot& slot) {
  slot.runner = this;
  const auto ended = [](void* context) {
    auto& begun = *static_cast<Slot*>(context);
    begun.runner->OnStored(begun);
  };
  slot.begun_put = BeginQuickStore(EngineOf(slot).context(), slot.request,
                                   slot.text, ended, &slot);
  if (slot.begun_put == nullptr) net::Spawn(StoreOn(slot));
}

void RequestRunner::OnStored(Slot& slot) {
  Reply reply;
  if (!EndQuickStore(EngineOf(slot).context(), *slot.begun_put, reply.item)) {
    return net::Spawn(StoreOn(slot));
  }
  slot.begun_put.reset();
  AnswerStore(slot, reply);
}

Task<void> RequestRunner::StoreOn(Slot& slot) {
  const auto bytes = std::as_bytes(std::span(slot.text));
  Done done;
  if (slot.request.operation == Operation::kUpdate) {
    done = co_await EngineOf(slot).Update(slot.request, bytes, slot.memory);
  } else {
    store::MemoryContent content(bytes);
    const bool extends = slot.request.mode == StoreMode::kAppend ||
                         slot.request.mode == StoreMode::kPrepend;
    // It asks for all that it needs at once.
    if (extends) slot.memory.KeepAtMost(0);
    done = co_await EngineOf(slot).Store(slot.request, content, slot.memory,
                                         slot.begun_put.get());
    slot.begun_put.reset();
  }
  done.reply.text = done.text;
  AnswerStore(slot, done.reply);
}

void RequestRunner::AnswerStore(Slot& slot, const Reply& reply) {
  slot.outcome = reply.outcome;
  AppendReply(slot.request, reply, slot.head);
  slot.text = std::string();
  slot.memory.KeepAtMost(0);
  pipeline_.End(slot);
}

Task<void> RequestRunner::Change(Slot& slot) {
  Done done = co_await EngineOf(slot).Change(slot.request, slot.memory);
  slot.memory.KeepAtMost(0);
  done.reply.text = done.text;
  slot.outcome = done.reply.outcome;
  slot.created = done.reply.created;
  for (const auto& [name, value] : done.lines) {
    AppendStat(slot.request, name, value, slot.head);
  }
  AppendReply(slot.request, done.reply, slot.head);
  pipeline_.End(slot);
}

Task<void> RequestRunner::List(Slot& slot) {
  const auto visit = [&](std::string_view key, const ObjectInfo& info) {
    AppendListed(key, FormatScheme(info.scheme),
                 WidthName(info.scheme, info.width), info.length, slot.head);
    return !stream_.closing();
  };
  Done done = co_await EngineOf(slot).List(slot.request, visit);
  done.reply.text = done.text;
  slot.outcome = done.reply.outcome;
  AppendReply(slot.request, done.reply, slot.head);
  pipeline_.End(slot);
}

void RequestRunner::AnswerAtOnce(Slot& slot) {
  Reply reply;
  std::string text;
  if (slot.request.operation == Operation::kVersion) text = kSpokenVersion;
  if (slot.request.operation == Operation::kVerbosity) {
    host_.verbosity = std::min(slot.request.level, kMaxVerbosity);
  }
  if (slot.request.operation == Operation::kStats) {
    const auto answer =
        host_.stats(slot.request.argument,
                    [&slot](std::string_view name, std::string_view value) {
                      AppendStat(slot.request, name, value, slot.head);
                    });
    text = answer.value_or("");
    if (!answer) reply.outcome = ReplyStatus::kNotFound;
  }
  reply.text = text;
  slot.outcome = reply.outcome;
  AppendReply(slot.request, reply, slot.head);
  slot.closes = slot.request.operation == Operation::kQuit;
  pipeline_.End(slot);
}

}  // namespace ers::proxy
