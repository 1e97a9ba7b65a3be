#include "server/connection.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "metrics/commands.h"
#include "protocol/reply.h"

namespace ers::proxy {
namespace {

using net::Task;
using Event = RequestReader::Event;

// Longer values go to the store as they come, and nothing beside them.
constexpr std::uint64_t kSmallValue = 64 << 10;
// A client that has sent so much ahead is not what is waited for.
constexpr std::uint64_t kEnoughUnread = 64 << 10;
constexpr std::string_view kLineEnd = "\r\n";

}  // namespace

Connection::Connection(ConnectionHost& host, int socket,
                       std::string_view unread,
                       std::function<void(Connection&)> on_end)
    : host_(host),
      on_end_(std::move(on_end)),
      account_{host.memory},
      stream_(host.loop, socket, unread, host.read_buffers, host.counters,
              account_, [this] { OnProgress(); }),
      reader_(host.limits),
      pipeline_(host.loop, account_,
                [this](Slot& slot, net::TimePoint now) { Deliver(slot, now); }),
      tracer_(host),
      runner_(host, stream_, pipeline_) {
  net::Spawn(Serve());
}

void Connection::HandOver() {
  hands_over_ = true;
  // Else it sees to that when it has read the request that it is in.
  if (reader_.between_requests() && stream_.awaits_input()) stream_.Drain();
}

bool Connection::IdleSince(net::TimePoint then) const {
  const bool for_more =
      stream_.awaits_input() && (pipeline_.empty() || incoming_ != nullptr);
  return !stream_.broken() && (for_more || stream_.full()) &&
         stream_.pace().IdleSince(then);
}

std::optional<double> Connection::RateOfClient(net::TimePoint now,
                                               net::TimePoint since) {
  if (stream_.broken() || account_.held == 0) {
    stream_.pace().Forget();
    return std::nullopt;
  }
  const std::uint64_t unread = stream_.unread();
  const bool clients_turn =
      stream_.full() || (incoming_ != nullptr &&
                         unread < std::min(kEnoughUnread, incoming_->left()));
  return stream_.pace().Rate(now, since, clients_turn, unread);
}

void Connection::OnProgress() {
  if (stream_.broken()) pipeline_.Release();
  pipeline_.Wake();
}

// --- Requests as they come ---------------------------------------------------

Task<void> Connection::Serve() {
  bool open = true;
  while (open && !stream_.closing()) {
    if (hands_over_ && reader_.between_requests()) break;
    tracer_.BeginParse();
    switch (reader_.Next(stream_.input())) {
      case Event::kNeedInput:
        open = co_await stream_.ReadMore();
        tracer_.BytesCame(stream_.read_at());
        break;
      case Event::kRequest:
        tracer_.Came(reader_.request());
        if (!StartAtOnce()) open = co_await Dispatch();
        break;
      case Event::kError:
        co_await AnswerError();
        break;
      // Values are read by the request that they belong to.
      case Event::kValue:
      case Event::kValueEnd:
      case Event::kValueBad:
      case Event::kClose:
        open = false;
        break;
    }
  }
  const auto over = [this] { return pipeline_.empty() && stream_.all_sent(); };
  co_await pipeline_.Until(over);
  if (hands_over_ && reader_.between_requests() && !stream_.closing()) {
    host_.hand_over(stream_.socket(), reader_.Unparsed(stream_.input()));
  }
  on_end_(*this);
}

// Room among those under way, and none of them has to come first.
Task<void> Connection::RoomFor(const ClientRequest& request) {
  return pipeline_.Until([this, &request] {
    return stream_.closing() ||
           (stream_.has_room() && pipeline_.MayStart(request));
  });
}

// Also for what is answered at once: a client that does not read gets no more.
Task<void> Connection::RoomForAnswer() {
  return pipeline_.Until([this] {
    return stream_.closing() || (stream_.has_room() && pipeline_.HasRoom());
  });
}

Task<void> Connection::AllAnswered() {
  return pipeline_.Until(
      [this] { return stream_.closing() || pipeline_.empty(); });
}

Task<void> Connection::AnswerError() {
  ClientRequest removal;
  removal.operation = Operation::kDelete;
  removal.key = reader_.refused_key();
  removal.style.quiet = true;
  const std::string error = reader_.error();
  const net::TimePoint read = stream_.read_at();
  if (removal.key.empty()) {
    co_await RoomForAnswer();
  } else {
    co_await RoomFor(removal);
  }
  Slot& slot = pipeline_.Add(std::move(removal));
  slot.head = error;
  slot.read = read;
  slot.refused = true;
  tracer_.DropLine();
  if (slot.request.key.empty()) {
    pipeline_.End(slot);
  } else {
    net::Spawn(runner_.Change(slot));
  }
}

// What needs no coroutine: a get or a store that waits for nothing. False:
// Dispatch.
bool Connection::StartAtOnce() {
  ClientRequest& request = reader_.request();
  const bool gets = request.operation == Operation::kGet;
  const bool ends = request.operation == Operation::kEndOfGets;
  const bool stores = request.operation == Operation::kStore;
  if (!gets && !ends && !stores) return false;
  if (stream_.closing() || !stream_.has_room() || tracer_.MayTrace(request)) {
    return false;
  }
  if (ends ? !pipeline_.HasRoom() : !pipeline_.MayStart(request)) return false;
  if (stores) return StoreAtOnce();
  Slot& slot = pipeline_.Add(std::move(request));
  slot.read = stream_.read_at();
  if (gets) {
    runner_.Get(slot);
  } else {
    pipeline_.End(slot);
  }
  return true;
}

// The same where the value has come with its line, and all of it.
bool Connection::StoreAtOnce() {
  std::string_view& input = stream_.input();
  const std::uint64_t bytes = reader_.request().value_bytes;
  if (bytes > kSmallValue || input.size() < bytes + kLineEnd.size() ||
      input.substr(bytes, kLineEnd.size()) != kLineEnd ||
      reader_.request().style.dialect == Dialect::kBinary) {
    return false;
  }
  Slot& slot = pipeline_.Add(std::move(reader_.request()));
  slot.read = stream_.read_at();
  const Task<Status> room = slot.memory.Take(3 * bytes);
  if (!room.await_ready()) {
    // Dispatch waits for it.
    reader_.request() = std::move(slot.request);
    pipeline_.DropLast();
    return false;
  }
  slot.text.reserve(bytes);
  while (reader_.Next(input) == Event::kValue) slot.text += reader_.value();
  runner_.Store(slot);
  return true;
}

// Starts what the reader's request asks for. False: it is the last one.
Task<bool> Connection::Dispatch() {
  ClientRequest request = std::move(reader_.request());
  const net::TimePoint read = stream_.read_at();
  std::shared_ptr<Trace> trace = tracer_.TraceOf(request, read);
  if (InfoOf(request.operation).has_key) {
    co_await RoomFor(request);
  } else if (request.operation == Operation::kFlush ||
             request.operation == Operation::kList) {
    co_await AllAnswered();
  } else {
    co_await RoomForAnswer();
  }
  Slot& slot = pipeline_.Add(std::move(request));
  slot.read = read;
  if (trace) {
    trace->steps.Add(store::RequestStep::kWait, trace->understood,
                     host_.loop.Now());
    slot.trace = std::move(trace);
  }
  switch (InfoOf(slot.request.operation).runs) {
    case Runs::kGet:
      runner_.Get(slot);
      break;
    case Runs::kStore:
      co_return co_await DispatchStore(slot);
    case Runs::kChange:
      net::Spawn(runner_.Change(slot));
      break;
    case Runs::kAlone:  // a flush: what comes behind it is not to be flushed
      net::Spawn(runner_.Change(slot));
      co_await AllAnswered();
      break;
    case Runs::kList:
      net::Spawn(runner_.List(slot));
      co_await AllAnswered();
      break;
    case Runs::kEnd:
      pipeline_.End(slot);
      break;
    case Runs::kAtOnce: {
      const bool quits = slot.request.operation == Operation::kQuit;
      runner_.AnswerAtOnce(slot);
      co_return !quits;
    }
  }
  co_return true;
}

Task<bool> Connection::DispatchStore(Slot& slot) {
  const ClientRequest& request = slot.request;
  const std::uint64_t bytes = request.value_bytes;
  const bool whole =
      bytes <= kSmallValue || request.operation == Operation::kUpdate;
  Done done;
  if (whole) {  // it, and what is staged of it
    const Status room = co_await slot.memory.Take(3 * bytes);
    if (!room.ok()) done = Failed(room, host_.counters);
  }
  IncomingValue incoming(stream_, reader_, slot.memory, bytes, slot.steps());
  incoming_ = &incoming;
  if (done.reply.outcome != ReplyStatus::kDone) {
    // Answered when the value was read.
  } else if (whole) {
    const Result<std::span<const std::byte>> value =
        co_await incoming.Next(bytes);
    incoming_ = nullptr;
    slot.memory.SetWaitsFor(WaitsFor::kServers);
    if (value) {
      slot.text.assign(reinterpret_cast<const char*>(value->data()),
                       value->size());
      runner_.Store(slot);
      co_return true;
    }
  } else {
    slot.memory.SetWaitsFor(WaitsFor::kClient);
    if (request.mode != StoreMode::kAppend &&
        request.mode != StoreMode::kPrepend) {
      incoming.TakeMemory(host_.engine.SchemeOf(request));
    }
    done = co_await slot.EngineOr(host_.engine)
               .Store(request, incoming, slot.memory);
  }
  const bool came = co_await incoming.Skip();
  incoming_ = nullptr;
  if (came && !incoming.bad()) {
    done.reply.text = done.text;
    slot.outcome = done.reply.outcome;
    AppendReply(request, done.reply, slot.head);
    pipeline_.End(slot);
    co_return true;
  }
  slot.outcome = ReplyStatus::kClientError;
  if (incoming.bad()) slot.head = reader_.error();
  const bool goes_on = incoming.bad();
  pipeline_.End(slot);
  co_return goes_on;
}

// --- Answers in order --------------------------------------------------------

void Connection::Deliver(Slot& slot, net::TimePoint now) {
  Count(slot, now);
  if (stream_.closing()) {  // a stream that was cut off has sent what it sends
    if (slot.closes) return EndTrace(slot);
    // No client takes this answer; the collector may get the trace.
    if (RequestTracer::EndsWith(slot)) (void)tracer_.End(slot);
    return;
  }
  stream_.Send(slot.head, slot.memory);
  stream_.Send(std::move(slot.value), slot.memory);
  stream_.Send(slot.tail);
  EndTrace(slot);
  if (slot.closes) stream_.Close();
}

void Connection::Count(const Slot& slot, net::TimePoint now) {
  const Command command =
      slot.refused ? Command::kInvalid : CommandOf(slot.request);
  if (command == Command::kEnd) return;
  const RequestResult result = ResultOf(command, slot.outcome, slot.created);
  host_.requests.Add(command, result, now - slot.read);
  const bool refused_value = slot.refused && !slot.request.key.empty();
  if (result == RequestResult::kStored) {
    host_.counters.Add(Counter::kTotalItems);
  } else if (result == RequestResult::kTooLarge || refused_value) {
    host_.counters.Add(Counter::kStoreTooLarge);
  } else if (result == RequestResult::kOutOfMemory &&
             slot.request.has_value()) {
    host_.counters.Add(Counter::kStoreNoMemory);
  }
}

void Connection::EndTrace(const Slot& slot) {
  if (!RequestTracer::EndsWith(slot)) return;
  stream_.Flush();
  stream_.Send(tracer_.End(slot));
}

}  // namespace ers::proxy
