#include "net/silence_probe.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "net/errno_text.h"

namespace ers::net {
SilenceProbe::SilenceProbe(Runtime& runtime, const Endpoint& endpoint,
                           Duration patience,
                           std::function<void(bool answered)> end)
    : end_(std::move(end)),
      timer_(runtime, [this] { End(false); }),
      stream_(runtime.Connect(endpoint, *this)) {
  timer_.Start(patience);
}

void SilenceProbe::OnConnected() { Write(); }

void SilenceProbe::Write() {
  const iovec piece{const_cast<char*>(unsent_.data()), unsent_.size()};
  const ssize_t moved = stream_->WriteV(&piece, 1);
  if (moved < 0 && !MustWait()) {
    End(false);
    return;
  }
  unsent_.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(moved, 0)));
  stream_->WantWrite(!unsent_.empty());
}

void SilenceProbe::OnReadable() {
  char byte = 0;
  const iovec piece{&byte, 1};
  const ssize_t moved = stream_->ReadV(&piece, 1);
  if (moved >= 0 || !MustWait()) End(moved > 0);
}

void SilenceProbe::OnWritable() { Write(); }

void SilenceProbe::OnFailed(const std::string&) { End(false); }

void SilenceProbe::End(bool answered) {
  timer_.Stop();
  stream_.reset();
  const std::function<void(bool)> end = std::move(end_);
  end(answered);
}

}  // namespace ers::net
