#include "shared/token.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace ers::proxy {
namespace {

tl::unexpected<Status> RefuseTokenFile(const std::string& file,
                                       std::string_view why) {
  return Fail(StatusCode::kInvalidArgument,
              fmt::format("\"{}\": {}", file, why));
}

std::string ErrorText() {
  return std::error_code(errno, std::generic_category()).message();
}

// Reads no more than shows that it is too much.
Result<std::string> ReadSome(const std::string& file, int opened) {
  std::string text(kMaxTokenBytes + 2, '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got =
        read(opened, text.data() + filled, text.size() - filled);
    if (got < 0) return RefuseTokenFile(file, ErrorText());
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  text.resize(filled);
  return text;
}

Result<std::string> ReadOpened(const std::string& file, int opened) {
  struct stat about{};
  if (fstat(opened, &about) != 0) return RefuseTokenFile(file, ErrorText());
  if (!S_ISREG(about.st_mode))
    return RefuseTokenFile(file, "it is not a regular file");
  if ((about.st_mode & (S_IRWXO | S_IWGRP)) != 0) {
    return RefuseTokenFile(file,
                           "others may use it: chmod 600, or 640 with a group");
  }
  Result<std::string> text = ReadSome(file, opened);
  if (!text) return text;
  if (text->ends_with('\n')) text->pop_back();
  const auto is_mark = [](char c) { return c > ' ' && c <= '~'; };
  if (text->size() < kMinTokenBytes || text->size() > kMaxTokenBytes ||
      !std::all_of(text->begin(), text->end(), is_mark)) {
    return RefuseTokenFile(
        file, fmt::format("it must hold one line of {} to {} letters, digits "
                          "and marks (openssl rand -hex 32 makes one)",
                          kMinTokenBytes, kMaxTokenBytes));
  }
  return text;
}

}  // namespace

Result<std::string> ReadToken(const std::string& file) {
  // A pipe that nothing writes to would not even open.
  const int opened = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) return RefuseTokenFile(file, ErrorText());
  Result<std::string> token = ReadOpened(file, opened);
  close(opened);
  return token;
}

bool SameToken(std::string_view token, std::string_view given) {
  if (token.empty()) return false;
  // volatile: or the first difference might end the loop.
  volatile unsigned char different = token.size() == given.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    different = static_cast<unsigned char>(
        different |
        static_cast<unsigned char>(given[i] ^ token[i % token.size()]));
  }
  return different == 0;
}

}  // namespace ers::proxy
