#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>

#include "ctl/support/files.h"
#include "ctl/support/report.h"

namespace ers::ctl {
namespace {

constexpr unsigned kNewFileMode = 0666;  // less the umask
constexpr unsigned kModeBits = 07777;

// Short, so that it fits wherever the target's own name does.
std::string TemporaryName() {
  std::random_device random;
  return fmt::format(".ersctl-{}-{:08x}", getpid(), random());
}

}  // namespace

Status Output::Failed(const char* what) const {
  return {StatusCode::kInvalidArgument,
          fmt::format("{}: {}: {}; name a file in a folder that can be "
                      "written to",
                      name_, what, std::strerror(errno))};
}

Result<Output> Output::Open(const std::string& path) {
  Output output;
  if (path.empty() || path == "-") {
    output.name_ = "standard output";
    output.descriptor_ = STDOUT_FILENO;
    return output;
  }
  output.name_ = path;
  struct stat about = {};
  const bool exists = stat(path.c_str(), &about) == 0;
  if (exists && S_ISDIR(about.st_mode)) {
    errno = EISDIR;
    return Fail(output.Failed("cannot write"));
  }
  if (exists && !S_ISREG(about.st_mode)) {
    output.owned_ = Descriptor(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    output.descriptor_ = output.owned_.get();
    if (output.descriptor_ < 0) return Fail(output.Failed("cannot open"));
    return output;
  }
  // Through a symbolic link the file it leads to is replaced, not the link.
  std::error_code error;
  const std::filesystem::path target =
      std::filesystem::weakly_canonical(path, error);
  output.target_ = error ? path : target.string();
  Status opened = output.OpenBeside(exists ? about.st_mode : 0);
  if (!opened.ok()) return Fail(std::move(opened));
  return output;
}

Status Output::OpenBeside(unsigned mode) {
  const std::filesystem::path folder =
      std::filesystem::path(target_).parent_path();
  const std::string where = folder.empty() ? "." : folder.string();
  beside_ = (folder / TemporaryName()).string();
  // A file without a name vanishes even with a killed process.
  int number =
      open(where.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kNewFileMode);
  if (number < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
    number = open(beside_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC,
                  kNewFileMode);
    linked_ = number >= 0;
  }
  owned_ = Descriptor(number);
  descriptor_ = number;
  if (number < 0) return Failed("cannot create");
  if (mode != 0 && fchmod(number, mode & kModeBits) != 0) {
    return Failed("cannot set its mode");
  }
  return {};
}

Output::~Output() {
  // A moved-from Output has no descriptor left and owns nothing.
  if (linked_ && owned_.get() >= 0) unlink(beside_.c_str());
}

Status Output::Write(std::span<const std::byte> bytes) {
  return WriteAll(descriptor_, bytes, name_);
}

Status Output::Commit() {
  if (target_.empty()) return {};
  // Before the name: behind it, a machine that stops would leave a file of that
  // name with a part of its bytes.
  if (fsync(descriptor_) != 0) return Failed("cannot write to the disk");
  if (!linked_) {
    const std::string open_file = fmt::format("/proc/self/fd/{}", descriptor_);
    if (linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, beside_.c_str(),
               AT_SYMLINK_FOLLOW) != 0) {
      return Failed("cannot create");
    }
    linked_ = true;
  }
  if (owned_.Close() != 0) return NotCommitted("cannot write");
  if (rename(beside_.c_str(), target_.c_str()) != 0) {
    return NotCommitted("cannot replace");
  }
  linked_ = false;
  return SyncFolder();
}

// With its descriptor closed the destructor takes it for one that moved.
Status Output::NotCommitted(const char* what) {
  Status failed = Failed(what);
  unlink(beside_.c_str());
  linked_ = false;
  return failed;
}

// So that the new name lasts.
Status Output::SyncFolder() const {
  const std::filesystem::path folder =
      std::filesystem::path(target_).parent_path();
  const Descriptor opened(open(folder.empty() ? "." : folder.c_str(),
                               O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // One may write to a folder that one may not read.
  if (opened.get() < 0 || fsync(opened.get()) == 0) return {};
  return Failed("is there, but its folder cannot be written to the disk");
}

}  // namespace ers::ctl
