#include "server/output.h"

#include <array>
#include <cerrno>
#include <utility>

namespace ers::proxy {
namespace {

constexpr std::size_t kMaxText = 4096;
constexpr std::size_t kMaxPieces = 64;  // of one write

}  // namespace

std::string_view Output::BytesOf(const Piece& piece) {
  if (const auto* text = std::get_if<std::string>(&piece)) return *text;
  return std::get<Value>(piece).text();
}

void Output::Add(std::string_view text) {
  if (text.empty()) return;
  bytes_ += text.size();
  auto* last =
      pieces_.empty() ? nullptr : std::get_if<std::string>(&pieces_.back());
  if (last != nullptr && last->size() + text.size() <= kMaxText) {
    last->append(text);
  } else {
    pieces_.emplace_back(std::string(text));
  }
}

void Output::Add(Value value) {
  if (value.size() == 0) return;
  bytes_ += value.size();
  pieces_.emplace_back(std::move(value));
}

Output::Written Output::WriteTo(net::Stream& stream) {
  while (!pieces_.empty()) {
    std::array<iovec, kMaxPieces> parts;
    std::size_t count = 0;
    for (const Piece& piece : pieces_) {
      if (count == parts.size()) break;
      std::string_view bytes = BytesOf(piece);
      if (count == 0) bytes.remove_prefix(front_written_);
      parts[count++] = {const_cast<char*>(bytes.data()), bytes.size()};
    }
    const ssize_t moved = stream.WriteV(parts.data(), static_cast<int>(count));
    if (moved < 0) return errno == EAGAIN ? Written::kSome : Written::kBroken;
    Drop(static_cast<std::size_t>(moved));
  }
  return Written::kAll;
}

void Output::Drop(std::size_t count) {
  bytes_ -= count;
  while (count > 0) {
    const std::size_t left = BytesOf(pieces_.front()).size() - front_written_;
    if (count < left) {
      front_written_ += count;
      return;
    }
    count -= left;
    front_written_ = 0;
    pieces_.pop_front();
  }
}

}  // namespace ers::proxy
