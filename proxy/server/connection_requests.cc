// The requests of one connection, each from its start to its answer.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "server/connection.h"

namespace ers::proxy {

using net::Task;

// As memcached has it.
constexpr std::uint32_t kMaxVerbosity = 2;

// A stream's memory: pieces are asked for ahead only while its client keeps up,
// and waited for only when all before has left.
class StreamMemory final : public store::Memory {
 public:
  StreamMemory(Connection& connection, MemoryHold& hold)
      : connection_(connection), hold_(hold) {
    hold.SetPace(Pace::kClient);
    hold.SetFirstInLine();
  }
  bool TryTake(std::uint64_t bytes) override {
    return !connection_.want_write_ && hold_.TryTake(bytes);
  }
  Task<Status> Take(std::uint64_t bytes) override {
    const auto all_left = [this] {
      return connection_.closing_ || connection_.output_.bytes() == 0;
    };
    co_await connection_.stream_waiter_.Until(all_left);
    co_return co_await hold_.Take(bytes);
  }
  void Give(std::uint64_t bytes) override { hold_.Give(bytes); }

 private:
  Connection& connection_;
  MemoryHold& hold_;
};

Task<void> Connection::RunGet(Slot& slot) {
  if (want_write_) slot.memory.SetPace(Pace::kClient);
  Gotten gotten = co_await EngineOf(slot).Get(slot.request, slot.memory);
  if (gotten.long_value) {
    co_await StreamLong(slot, gotten.done.reply.item, gotten.counted);
    co_return;
  }
  AnswerGet(slot, std::move(gotten));
}

void Connection::AnswerGet(Slot& slot, Gotten gotten) {
  Reply& reply = gotten.done.reply;
  reply.text = gotten.done.text;
  slot.outcome = reply.outcome;
  slot.created = reply.created;
  if (reply.outcome == Outcome::kDone && slot.request.want_value) {
    AppendValueHeader(slot.request, reply.item, slot.head);
    slot.value = std::move(gotten.value);
    slot.tail = ValueTrailer(slot.request);
  } else {
    AppendReply(slot.request, reply, slot.head);
    if (IsTextGet(slot.request)) slot.small_value = gotten.done.text;
  }
  End(slot);
}

// Waits until all before it are answered, then sends as the pieces come.
Task<void> Connection::StreamLong(Slot& slot, ItemInfo judged, bool counted) {
  if (slots_.front().get() != &slot) {
    slot.turn.emplace(host_.loop, 1);
    co_await *slot.turn;
  }
  // A value before this one was cut off: whatever follows would be taken for
  // its rest.
  if (closing_) {
    slot.outcome = Outcome::kClientError;
    End(slot);
    co_return;
  }
  bool begun = false;
  const auto begin = [&](ItemInfo item) {
    item.ttl = judged.ttl;
    item.stale = judged.stale;
    item.won = judged.won;
    item.another_won = judged.another_won;
    item.fetched = judged.fetched;
    item.idle = judged.idle;
    std::string head;
    AppendValueHeader(slot.request, item, head);
    output_.Add(head);
    begun = true;
  };
  StreamMemory memory(*this, slot.memory);
  const store::AsyncSink sink = [this, &slot](Value piece) -> Task<Status> {
    unsent_.TakeFrom(slot.memory, piece.size());
    output_.Add(std::move(piece));
    WantFlush();
    const auto has_room = [this] {
      return closing_ || output_.bytes() < kMaxUnsent;
    };
    const store::InStep step(StepsOf(slot), store::Step::kReply);
    co_await stream_waiter_.Until(has_room);
    if (closing_) {
      co_return Status(StatusCode::kUnavailable, "the client left");
    }
    co_return Status();
  };
  const Status status = co_await EngineOf(slot).Stream(slot.request, counted,
                                                       begin, sink, memory);
  if (status.ok()) {
    slot.tail = ValueTrailer(slot.request);
  } else if (!begun && status.code() == StatusCode::kNotManaged) {
    Gotten plain = co_await EngineOf(slot).GetPlain(slot.request);
    plain.done.reply.item.fetched = judged.fetched;
    plain.done.reply.item.idle = judged.idle;
    AnswerGet(slot, std::move(plain));
    co_return;
  } else if (begun) {
    // A part of a value must not look like a whole one.
    slot.outcome = closing_ ? Outcome::kClientError : Outcome::kServerError;
    closing_ = true;
    slot.closes = true;
  } else {
    Reply reply;
    reply.outcome = status.code() == StatusCode::kNotFound
                        ? Outcome::kNotFound
                        : Outcome::kServerError;
    reply.text = status.message();
    slot.outcome = reply.outcome;
    AppendReply(slot.request, reply, slot.head);
    if (IsTextGet(slot.request)) slot.small_value = status.message();
  }
  End(slot);
}

Task<void> Connection::RunStore(Slot& slot) {
  const auto bytes = std::as_bytes(std::span(slot.small_value));
  Done done;
  if (slot.request.verb == Verb::kUpdate) {
    done = co_await EngineOf(slot).Update(slot.request, bytes);
  } else {
    store::MemoryContent content(bytes);
    const bool extends = slot.request.mode == StoreMode::kAppend ||
                         slot.request.mode == StoreMode::kPrepend;
    // It asks for all that it needs at once.
    if (extends) slot.memory.KeepAtMost(0);
    done = co_await EngineOf(slot).Store(slot.request, content, slot.memory);
  }
  done.reply.text = done.text;
  slot.outcome = done.reply.outcome;
  AppendReply(slot.request, done.reply, slot.head);
  slot.small_value = std::string();
  slot.memory.KeepAtMost(0);
  End(slot);
}

Task<void> Connection::RunChange(Slot& slot) {
  Done done = co_await EngineOf(slot).Change(slot.request, slot.memory);
  slot.memory.KeepAtMost(0);
  done.reply.text = done.text;
  slot.outcome = done.reply.outcome;
  slot.created = done.reply.created;
  for (const auto& [name, value] : done.lines) {
    AppendStat(slot.request, name, value, slot.head);
  }
  AppendReply(slot.request, done.reply, slot.head);
  End(slot);
}

Task<void> Connection::RunList(Slot& slot) {
  const auto visit = [&](std::string_view key, const ObjectInfo& info) {
    AppendListed(key, FormatScheme(info.scheme), WidthName(info.width),
                 info.length, slot.head);
    return !closing_;
  };
  Done done = co_await EngineOf(slot).List(slot.request, visit);
  done.reply.text = done.text;
  slot.outcome = done.reply.outcome;
  AppendReply(slot.request, done.reply, slot.head);
  End(slot);
}

void Connection::AnswerAtOnce(Slot& slot) {
  Reply reply;
  std::string text;
  if (slot.request.verb == Verb::kVersion) text = kSpokenVersion;
  if (slot.request.verb == Verb::kVerbosity) {
    host_.verbosity = std::min(slot.request.level, kMaxVerbosity);
  }
  if (slot.request.verb == Verb::kStats) {
    const auto answer =
        host_.stats(slot.request.argument,
                    [&slot](std::string_view name, std::string_view value) {
                      AppendStat(slot.request, name, value, slot.head);
                    });
    text = answer.value_or("");
    if (!answer) reply.outcome = Outcome::kNotFound;
  }
  reply.text = text;
  slot.outcome = reply.outcome;
  AppendReply(slot.request, reply, slot.head);
  slot.closes = slot.request.verb == Verb::kQuit;
  End(slot);
}

}  // namespace ers::proxy
