#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "ctl/support/files.h"

namespace ers::ctl {
namespace {

// Memory for a value of unknown size grows by this factor, from this start.
constexpr std::size_t kFirstBytes = std::size_t{1} << 20;
constexpr std::size_t kGrowth = 2;

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept
    : number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

int Descriptor::Close() { return close(std::exchange(number_, -1)); }

Result<Input> Input::Open(const std::string& path) {
  Input input;
  if (path == "-") {
    input.name_ = "standard input";
    input.descriptor_ = STDIN_FILENO;
    return input;
  }
  input.name_ = path;
  input.owned_ = Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  input.descriptor_ = input.owned_.get();
  struct stat about = {};
  if (input.descriptor_ < 0 || fstat(input.descriptor_, &about) != 0) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("{}: cannot open: {}; name a file that can be "
                            "read, or - for standard input",
                            path, std::strerror(errno)));
  }
  if (S_ISDIR(about.st_mode)) {
    return Fail(StatusCode::kInvalidArgument,
                path + ": is a directory; name a file");
  }
  input.regular_ = S_ISREG(about.st_mode);
  if (input.regular_) input.size_ = static_cast<std::uint64_t>(about.st_size);
  return input;
}

Result<std::size_t> Input::Read(std::span<std::byte> into) {
  std::size_t filled = 0;
  while (filled < into.size()) {
    const std::span<std::byte> rest = into.subspan(filled);
    const ssize_t got = regular_ ? pread(descriptor_, rest.data(), rest.size(),
                                         static_cast<off_t>(position_))
                                 : read(descriptor_, rest.data(), rest.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return Fail(StatusCode::kInvalidArgument,
                  fmt::format("{}: cannot read: {}; name a file that can be "
                              "read to its end",
                              name_, std::strerror(errno)));
    }
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
    position_ += static_cast<std::uint64_t>(got);
  }
  if (filled < into.size() && regular_ && position_ < size_) {
    return Fail(StatusCode::kInvalidArgument,
                name_ + ": became shorter while it was read; run it again");
  }
  return filled;
}

Result<std::vector<std::byte>> Input::ReadAll() {
  std::vector<std::byte> bytes;
  std::size_t filled = 0;
  // One byte more than there should be shows the end.
  std::size_t room =
      regular_ ? static_cast<std::size_t>(size_) + 1 : kFirstBytes;
  while (filled == bytes.size()) {
    if (filled > kMaxValueBytes) {
      return Fail(StatusCode::kTooLarge,
                  fmt::format("{}: more than {} bytes, the largest value; "
                              "nothing was changed",
                              name_, kMaxValueBytes));
    }
    bytes.resize(std::min<std::size_t>(room, kMaxValueBytes + 1));
    const Result<std::size_t> got = Read(std::span(bytes).subspan(filled));
    if (!got) return Fail(got.error());
    filled += *got;
    room *= kGrowth;
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace ers::ctl
