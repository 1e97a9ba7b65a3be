#include "server/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "server/incoming_value.h"

namespace ers::proxy {
namespace {

using net::Task;
using Event = RequestReader::Event;

constexpr std::size_t kBufferBytes = 16 << 10;
constexpr std::size_t kMaxSpareBuffers = 64;
// Full buffers of one client that are worked off before others have theirs.
constexpr unsigned kReadsPerTurn = 2;
// Requests of one client that are under way at a time.
constexpr std::size_t kMaxSlots = 64;
// Longer values go to the store as they come, and nothing beside them.
constexpr std::uint64_t kSmallValue = 64 << 10;
// Who has sent so much ahead is not who is waited for.
constexpr std::uint64_t kEnoughUnread = 64 << 10;

bool Writes(const Request& request) {
  return request.verb != Verb::kGet || request.exptime || request.vivify ||
         request.recache;
}

}  // namespace

Connection::Connection(ConnectionHost& host, int socket,
                       std::function<void(Connection&)> on_end)
    : host_(host),
      on_end_(std::move(on_end)),
      stream_(host.loop.Adopt(socket, *this)),
      reader_(host.limits),
      account_{host.memory},
      unsent_(account_, Pace::kServers),
      moved_at_(host.loop.Now()),
      serve_waiter_(host.loop),
      stream_waiter_(host.loop) {
  run = [](Deferred& self) { static_cast<Connection&>(self).Flush(); };
  late = true;
  net::Spawn(Serve());
}

Connection::~Connection() = default;

void Connection::Drain() {
  draining_ = true;
  serve_waiter_.Wake();
}

// --- The stream --------------------------------------------------------------

void Connection::OnReadable() {
  readable_ = true;
  if (awaits_input_) {
    serve_waiter_.Wake();
    return;
  }
  // Nobody reads now, and it would come again and again.
  reading_ = false;
  stream_->WantRead(false);
}

void Connection::OnWritable() { Flush(); }

void Connection::OnFailed(const std::string&) { Break(); }

void Connection::TakeBuffer() {
  if (buffer_) return;
  if (host_.spare_buffers.empty()) {
    buffer_ = std::make_unique_for_overwrite<char[]>(kBufferBytes);
  } else {
    buffer_ = std::move(host_.spare_buffers.back());
    host_.spare_buffers.pop_back();
  }
}

void Connection::ReturnBuffer() {
  if (buffer_ && host_.spare_buffers.size() < kMaxSpareBuffers) {
    host_.spare_buffers.push_back(std::move(buffer_));
  }
  buffer_.reset();
}

Task<bool> Connection::ReadMore(std::span<std::byte> straight) {
  placed_ = 0;
  for (;;) {
    if (closing_ || peer_ended_ || draining_) co_return false;
    if (readable_) {
      TakeBuffer();
      const std::array<iovec, 2> pieces = {
          iovec{straight.data(), straight.size()},
          iovec{buffer_.get(), kBufferBytes}};
      const ssize_t got = straight.empty() ? stream_->ReadV(&pieces[1], 1)
                                           : stream_->ReadV(pieces.data(), 2);
      if (got > 0) {
        const auto count = static_cast<std::size_t>(got);
        // Others want their turn, too: if more is there the loop will say so.
        const bool all = count < straight.size() + kBufferBytes;
        if (all || (straight.empty() && ++reads_ % kReadsPerTurn == 0)) {
          readable_ = false;
        }
        moved_ += count;
        host_.counters.Add(Counter::kBytesRead, count);
        placed_ = std::min(count, straight.size());
        input_ = {buffer_.get(), count - placed_};
        input_read_ = host_.loop.Now();
        moved_at_ = input_read_;
        co_return true;
      }
      if (got == 0) {
        peer_ended_ = true;
        continue;
      }
      readable_ = false;
      if (errno != EAGAIN) {
        Break();
        continue;
      }
    }
    ReturnBuffer();  // an idle client costs little
    if (!std::exchange(reading_, true)) stream_->WantRead(true);
    const auto something = [this] {
      return readable_ || closing_ || draining_;
    };
    awaits_input_ = true;
    co_await serve_waiter_.Until(something);
    awaits_input_ = false;
  }
}

void Connection::WantFlush() {
  if (stream_) host_.loop.Defer(*this);
}

void Connection::Flush() {
  if (ended_) return;
  if (!stream_) return MaybeEnd();
  const std::size_t before = output_.bytes();
  const Output::Written written = output_.WriteTo(*stream_);
  host_.counters.Add(Counter::kBytesWritten, before - output_.bytes());
  if (before > output_.bytes()) moved_at_ = host_.loop.Now();
  moved_ += before - output_.bytes();
  unsent_.KeepAtMost(output_.bytes());
  if (written == Output::Written::kBroken) return Break();
  const bool want = written == Output::Written::kSome;
  if (want != want_write_) {
    want_write_ = want;
    stream_->WantWrite(want);
    unsent_.SetPace(want ? Pace::kClient : Pace::kServers);
  }
  serve_waiter_.Wake();
  stream_waiter_.Wake();
  MaybeEnd();
}

void Connection::Break() {
  stream_.reset();
  closing_ = true;
  output_ = Output();
  unsent_.KeepAtMost(0);
  serve_waiter_.Wake();
  stream_waiter_.Wake();
  for (const auto& slot : slots_) {
    if (slot->turn && slot->turn->count() > 0) slot->turn->CountDown();
  }
  WantEnd();
}

// Ends when nothing runs for the client and nothing is left to send.
void Connection::MaybeEnd() {
  if (ended_ || serving_ || !slots_.empty()) return;
  if (stream_ && output_.bytes() > 0) return;
  ended_ = true;
  on_end_(*this);
}

std::optional<double> Connection::RateOfClient(net::TimePoint now,
                                               net::TimePoint since) {
  if (!stream_ || account_.held == 0) {
    looked_ = net::TimePoint();
    return std::nullopt;
  }
  const std::size_t unread = input_.size() + stream_->Unread();
  const bool clients_turn =
      want_write_ ||
      (incoming_ && unread < std::min(kEnoughUnread, incoming_->left()));
  const std::uint64_t moved = moved_ + unread;
  const bool known = clients_turn && looked_ >= since;
  if (known && now - looked_ < kRateWindow) return std::nullopt;
  const std::chrono::duration<double> passed =
      now - std::exchange(looked_, now);
  const auto bytes =
      static_cast<double>(moved - std::exchange(moved_then_, moved));
  if (!known) return std::nullopt;
  return bytes / passed.count();
}

// --- Requests in order -------------------------------------------------------

Task<void> Connection::Serve() {
  bool open = true;
  while (open && !closing_) {
    if (--host_.until_sample == 0) {
      host_.until_sample = kSampleEvery;
      sample_from_ = host_.loop.Now();
    }
    switch (reader_.Next(input_)) {
      case Event::kNeedInput:
        open = co_await ReadMore();
        if (sample_from_) sample_from_ = input_read_;
        break;
      case Event::kRequest:
        open = co_await Dispatch();
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
  serving_ = false;
  WantEnd();
}

Task<void> Connection::AnswerError() {
  Request removal;
  removal.verb = Verb::kDelete;
  removal.key = reader_.refused_key();
  removal.style.quiet = true;
  const std::string error = reader_.error();
  const net::TimePoint read = input_read_;
  if (removal.key.empty()) {
    co_await RoomForAnswer();
  } else {
    co_await RoomFor(removal);
  }
  Slot& slot = NewSlot(std::move(removal));
  slot.head = error;
  slot.read = read;
  slot.refused = true;
  gets_trace_.reset();
  if (slot.request.key.empty()) {
    End(slot);
  } else {
    net::Spawn(RunChange(slot));
  }
}

Connection::Slot& Connection::NewSlot(Request request) {
  Slot& slot = *slots_.emplace_back(std::make_unique<Slot>(account_));
  slot.request = std::move(request);
  return slot;
}

// Room among those under way, and none of them has to come first.
Task<void> Connection::RoomFor(const Request& request) {
  auto may_start = [this, &request] {
    if (closing_) return true;
    if (slots_.size() >= kMaxSlots || output_.bytes() >= kMaxUnsent) {
      return false;
    }
    return std::none_of(slots_.begin(), slots_.end(), [&](const auto& slot) {
      if (slot->done || !InfoOf(slot->request.verb).has_key) return false;
      return slot->request.key == request.key &&
             (Writes(slot->request) || Writes(request));
    });
  };
  return serve_waiter_.Until(std::move(may_start));
}

// Also for what is answered at once: who does not read is not answered on.
Task<void> Connection::RoomForAnswer() {
  return serve_waiter_.Until([this] {
    return closing_ ||
           (slots_.size() < kMaxSlots && output_.bytes() < kMaxUnsent);
  });
}

Task<void> Connection::AllAnswered() {
  return serve_waiter_.Until([this] { return closing_ || slots_.empty(); });
}

// Starts what the reader's request asks for. False: it is the last one.
Task<bool> Connection::Dispatch() {
  Request request = std::move(reader_.request());
  const net::TimePoint read = input_read_;
  std::shared_ptr<Trace> trace = TraceOf(request);
  if (InfoOf(request.verb).has_key) {
    co_await RoomFor(request);
  } else if (request.verb == Verb::kFlush || request.verb == Verb::kList) {
    co_await AllAnswered();
  } else {
    co_await RoomForAnswer();
  }
  Slot& slot = NewSlot(std::move(request));
  slot.read = read;
  if (trace) {
    trace->steps.Add(store::Step::kWait, host_.loop.Now() - trace->understood);
    slot.trace = std::move(trace);
  }
  switch (InfoOf(slot.request.verb).runs) {
    case Runs::kGet:
      net::Spawn(RunGet(slot));
      break;
    case Runs::kStore:
      co_return co_await DispatchStore(slot);
    case Runs::kChange:
      net::Spawn(RunChange(slot));
      break;
    case Runs::kAlone:  // a flush: what comes behind it is not to be flushed
      net::Spawn(RunChange(slot));
      co_await AllAnswered();
      break;
    case Runs::kList:
      net::Spawn(RunList(slot));
      co_await AllAnswered();
      break;
    case Runs::kEnd:
      End(slot);
      break;
    case Runs::kAtOnce: {
      const bool quits = slot.request.verb == Verb::kQuit;
      AnswerAtOnce(slot);
      co_return !quits;
    }
  }
  co_return true;
}

Task<bool> Connection::DispatchStore(Slot& slot) {
  const Request& request = slot.request;
  const std::uint64_t bytes = request.value_bytes;
  const bool whole = bytes <= kSmallValue || request.verb == Verb::kUpdate;
  Done done;
  if (whole) {  // it, and what is staged of it
    const Status room = co_await slot.memory.Take(3 * bytes);
    if (!room.ok()) done = host_.engine.Failed(room);
  }
  IncomingValue incoming(*this, slot.memory, bytes, StepsOf(slot));
  incoming_ = &incoming;
  if (done.reply.outcome != Outcome::kDone) {
    // Told when the value was read.
  } else if (whole) {
    const Result<std::span<const std::byte>> value =
        co_await incoming.Next(bytes);
    incoming_ = nullptr;
    slot.memory.SetPace(Pace::kServers);
    if (value) {
      slot.small_value.assign(reinterpret_cast<const char*>(value->data()),
                              value->size());
      net::Spawn(RunStore(slot));
      co_return true;
    }
  } else {
    slot.memory.SetPace(Pace::kClient);
    if (request.mode != StoreMode::kAppend &&
        request.mode != StoreMode::kPrepend) {
      incoming.TakeMemory(host_.engine.SchemeOf(request));
    }
    done = co_await EngineOf(slot).Store(request, incoming, slot.memory);
  }
  const bool came = co_await incoming.Skip();
  incoming_ = nullptr;
  if (came && !incoming.bad()) {
    done.reply.text = done.text;
    slot.outcome = done.reply.outcome;
    AppendReply(request, done.reply, slot.head);
    End(slot);
    co_return true;
  }
  slot.outcome = Outcome::kClientError;
  if (incoming.bad()) slot.head = reader_.error();
  const bool goes_on = incoming.bad();
  End(slot);
  co_return goes_on;
}

// --- Answers in order --------------------------------------------------------

void Connection::End(Slot& slot) {
  slot.done = true;
  if (slot.trace) slot.trace->ended = host_.loop.Now();
  Advance();
}

// Moves answers that are next in line to the output.
void Connection::Advance() {
  if (!slots_.empty() && slots_.front()->done) {
    const net::TimePoint now = host_.loop.Now();
    while (!slots_.empty() && slots_.front()->done) {
      Count(*slots_.front(), now);
      Finish(*slots_.front());
      slots_.pop_front();
    }
  }
  if (!slots_.empty() && slots_.front()->turn &&
      slots_.front()->turn->count() > 0) {
    slots_.front()->turn->CountDown();
  }
  serve_waiter_.Wake();
  WantEnd();
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

void Connection::Finish(Slot& slot) {
  if (closing_) {  // a stream that was cut off has sent what it sends
    if (slot.closes && slot.trace) EndTrace(slot);
    return;
  }
  if (IsTextGet(slot.request) && slot.outcome != Outcome::kDone &&
      slot.outcome != Outcome::kNotFound && !gets_error_) {
    gets_error_ = slot.outcome;
    gets_error_text_ = slot.small_value;
  }
  if (slot.request.verb == Verb::kEndOfGets) {
    Reply reply;
    reply.outcome = gets_error_.value_or(Outcome::kDone);
    reply.text = gets_error_text_;
    AppendReply(slot.request, reply, slot.head);
    gets_error_.reset();
  }
  if (slot.refused) gets_error_.reset();  // the end of a get line
  output_.Add(slot.head);
  unsent_.TakeFrom(slot.memory, slot.value.size());
  output_.Add(std::move(slot.value));
  output_.Add(slot.tail);
  if (slot.trace) EndTrace(slot);
  if (slot.closes) closing_ = true;
}

// Flush also looks whether it is the end. Deferred: who calls this may be
// inside what would be destroyed.
void Connection::WantEnd() { host_.loop.Defer(*this); }

}  // namespace ers::proxy
