#include "store/membership/state_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace ers::store {
namespace {

// More than the longest names of the most members there may be take.
constexpr std::size_t kMaxStateBytes = std::size_t{1} << 20;

std::string ErrorText(int error) {
  return std::generic_category().message(error);
}

// Syncs a file or folder that was written before.
bool SyncPath(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool synced = fsync(file) == 0;
  close(file);
  return synced;
}

Status CannotWrite(const std::string& path, int error) {
  return {StatusCode::kIncompatible,
          fmt::format("the state file {} cannot be written: {}", path,
                      ErrorText(error))};
}

}  // namespace

StateFileDraft& StateFileDraft::operator=(StateFileDraft&& other) noexcept {
  std::swap(draft_, other.draft_);
  std::swap(file_, other.file_);
  std::swap(epoch_, other.epoch_);
  return *this;
}

StateFileDraft::~StateFileDraft() {
  if (!draft_.empty()) unlink(draft_.c_str());
}

Status StateFileDraft::Adopt() {
  if (draft_.empty()) return {};
  const Result<View> there = StateFile(file_).Read();
  if (there && there->epoch >= epoch_) return {};
  if (std::rename(draft_.c_str(), file_.c_str()) != 0) {
    return CannotWrite(file_, errno);
  }
  draft_.clear();
  const auto folder = std::filesystem::path(file_).parent_path();
  SyncPath(folder.empty() ? "." : folder.string());
  return {};
}

Result<View> StateFile::Read() const {
  if (path_.empty()) {
    return Fail(StatusCode::kNotFound, "no state file is configured");
  }
  const auto unreadable = [this](const std::string& why) {
    return Fail(
        StatusCode::kIncompatible,
        fmt::format("the state file {} cannot be read: {}", path_, why));
  };
  std::error_code error;
  const auto about = std::filesystem::status(path_, error);
  if (about.type() == std::filesystem::file_type::not_found) {
    return Fail(StatusCode::kNotFound, "no state file yet");
  }
  if (error) return unreadable(error.message() + "; check its permissions");
  // A device or a pipe would never end, or never begin.
  if (about.type() != std::filesystem::file_type::regular) {
    return unreadable("it is not a regular file; name another");
  }
  std::ifstream file(path_, std::ios::binary);
  std::string text(kMaxStateBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.gcount() == 0 && !file.eof()) {
    return unreadable("check its permissions");
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxStateBytes) {
    return unreadable("it is too large for one; name another");
  }
  Result<View> view = DecodeView(text);
  if (!view) {
    return Fail(StatusCode::kIncompatible,
                fmt::format("the state file {}: {}; move it away to go by the "
                            "servers alone",
                            path_, view.error().message()));
  }
  return view;
}

Result<StateFileDraft> StateFile::Draft(const View& view) const {
  if (path_.empty()) return StateFileDraft();
  const Result<View> there = Read();
  if (there && there->epoch >= view.epoch) return StateFileDraft();
  // A name of its own (mkstemp fills in the Xs): other processes may be writing
  // theirs.
  std::string fresh = path_ + ".XXXXXX";
  const int made = mkstemp(fresh.data());
  if (made < 0) return Fail(CannotWrite(path_, errno));
  close(made);
  StateFileDraft draft(fresh, path_, view.epoch);
  std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
  file << EncodeView(view);
  file.close();
  if (!file || !SyncPath(fresh)) return Fail(CannotWrite(path_, errno));
  return draft;
}

}  // namespace ers::store
