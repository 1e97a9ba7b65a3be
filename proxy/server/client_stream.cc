#include "server/client_stream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace ers::proxy {
namespace {

using net::Task;

constexpr std::size_t kMaxSpareBuffers = 64;
// Full buffers of one client that are worked off before others have theirs.
constexpr unsigned kReadsPerTurn = 2;

}  // namespace

std::unique_ptr<char[]> ReadBuffers::Take() {
  if (spare_.empty()) return std::make_unique_for_overwrite<char[]>(kBytes);
  std::unique_ptr<char[]> buffer = std::move(spare_.back());
  spare_.pop_back();
  return buffer;
}

void ReadBuffers::GiveBack(std::unique_ptr<char[]> buffer) {
  if (spare_.size() < kMaxSpareBuffers) spare_.push_back(std::move(buffer));
}

ClientStream::ClientStream(net::EventLoop& loop, int socket,
                           std::string_view unread, ReadBuffers& buffers,
                           Counters& counters, MemoryAccount& account,
                           std::function<void()> on_progress)
    : loop_(loop),
      socket_(socket),
      buffers_(buffers),
      counters_(counters),
      on_progress_(std::move(on_progress)),
      stream_(loop.Adopt(socket, *this)),
      unsent_(account, WaitsFor::kServers),
      pace_(loop.Now()),
      input_condition_(loop),
      sent_condition_(loop) {
  run = [](Deferred& self) { static_cast<ClientStream&>(self).Flush(); };
  late = true;
  if (unread.empty()) return;
  buffer_ = buffers_.Take();
  input_ = {buffer_.get(), unread.copy(buffer_.get(), ReadBuffers::kBytes)};
  read_at_ = loop_.Now();
}

void ClientStream::OnReadable() {
  readable_ = true;
  if (awaits_input()) {
    input_condition_.Wake();
    return;
  }
  // Nothing reads now, and it would come again and again.
  want_read_ = false;
  stream_->WantRead(false);
}

void ClientStream::OnWritable() { Flush(); }

void ClientStream::OnFailed(const std::string&) { Break(); }

Task<bool> ClientStream::ReadMore(std::span<std::byte> straight) {
  placed_ = 0;
  for (;;) {
    if (phase_ != Phase::kReading) co_return false;
    if (readable_) {
      if (!buffer_) buffer_ = buffers_.Take();
      const std::array<iovec, 2> pieces = {
          iovec{straight.data(), straight.size()},
          iovec{buffer_.get(), ReadBuffers::kBytes}};
      const ssize_t got = straight.empty() ? stream_->ReadV(&pieces[1], 1)
                                           : stream_->ReadV(pieces.data(), 2);
      if (got > 0) {
        const auto count = static_cast<std::size_t>(got);
        // Others want their turn, too: if more is there the loop will say so.
        const bool all = count < straight.size() + ReadBuffers::kBytes;
        if (all || (straight.empty() && ++reads_ % kReadsPerTurn == 0)) {
          readable_ = false;
        }
        counters_.Add(Counter::kBytesRead, count);
        placed_ = std::min(count, straight.size());
        input_ = {buffer_.get(), count - placed_};
        read_at_ = loop_.Now();
        pace_.Moved(count, read_at_);
        co_return true;
      }
      if (got == 0) {
        Reach(Phase::kLastRequests);
        continue;
      }
      readable_ = false;
      if (errno != EAGAIN) {
        Break();
        continue;
      }
    }
    if (buffer_) buffers_.GiveBack(std::move(buffer_));
    if (!std::exchange(want_read_, true)) stream_->WantRead(true);
    const auto something = [this] {
      return readable_ || phase_ != Phase::kReading;
    };
    co_await input_condition_.Until(something);
  }
}

void ClientStream::Send(std::string_view text) {
  output_.Add(text);
  if (!all_sent()) loop_.Defer(*this);
}

void ClientStream::Send(std::string_view text, MemoryHold& hold) {
  unsent_.TakeFrom(hold, text.size());
  Send(text);
}

void ClientStream::Send(Value value, MemoryHold& hold) {
  unsent_.TakeFrom(hold, value.size());
  output_.Add(std::move(value));
  if (!all_sent()) loop_.Defer(*this);
}

void ClientStream::Flush() {
  if (!stream_) return;
  const std::size_t before = output_.bytes();
  const Output::Written written = output_.WriteTo(*stream_);
  const std::size_t moved = before - output_.bytes();
  counters_.Add(Counter::kBytesWritten, moved);
  if (moved > 0) pace_.Moved(moved, loop_.Now());
  unsent_.KeepAtMost(output_.bytes());
  if (written == Output::Written::kBroken) return Break();
  const bool want = written == Output::Written::kSome;
  if (want != want_write_) {
    want_write_ = want;
    stream_->WantWrite(want);
    unsent_.SetWaitsFor(want ? WaitsFor::kClient : WaitsFor::kServers);
  }
  sent_condition_.Wake();
  on_progress_();
}

Task<void> ClientStream::UntilRoom() {
  return sent_condition_.Until([this] { return closing() || has_room(); });
}

Task<void> ClientStream::UntilAllSent() {
  return sent_condition_.Until(
      [this] { return closing() || output_.bytes() == 0; });
}

void ClientStream::Reach(Phase phase) {
  phase_ = std::max(phase_, phase);
  input_condition_.Wake();
}

void ClientStream::Drain() { Reach(Phase::kLastRequests); }

void ClientStream::Close() { Reach(Phase::kClosing); }

void ClientStream::Break() {
  Reach(Phase::kBroken);
  stream_.reset();
  output_ = Output();
  unsent_.KeepAtMost(0);
  sent_condition_.Wake();
  on_progress_();
}

}  // namespace ers::proxy
