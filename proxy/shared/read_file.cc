#include "shared/read_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace ers::proxy {
namespace {

constexpr std::size_t kPartBytes = 65536;

tl::unexpected<Status> Unreadable(std::string why) {
  return Fail(StatusCode::kInvalidArgument, std::move(why));
}

tl::unexpected<Status> RefuseErrno(int error) {
  return Unreadable(std::error_code(error, std::generic_category()).message());
}

Result<std::string> ReadOpened(int file, std::size_t max_bytes) {
  struct stat about{};
  if (fstat(file, &about) != 0) return RefuseErrno(errno);
  if (S_ISDIR(about.st_mode)) return RefuseErrno(EISDIR);
  if (!S_ISREG(about.st_mode)) return Unreadable("it is not a regular file");
  std::string text;
  std::array<char, kPartBytes> part;
  for (;;) {
    const ssize_t got = read(file, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return RefuseErrno(errno);
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.size() > max_bytes) {
      return Unreadable(fmt::format("it is longer than {} bytes", max_bytes));
    }
  }
}

}  // namespace

Result<std::string> ReadRegularFile(const std::string& path,
                                    std::size_t max_bytes) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return RefuseErrno(errno);
  Result<std::string> text = ReadOpened(file, max_bytes);
  close(file);
  return text;
}

}  // namespace ers::proxy
