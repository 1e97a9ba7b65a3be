#include "store/membership/view_keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/mutex.h"
#include "store/format/planted_bug.h"

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

// Is it out, or was it between the two views? Then what is under way to it is
// for an incarnation that is no more.
bool HasLeft(const View* before, const View& now, std::size_t member) {
  const Member& is = now.members[member];
  const bool was_there = before != nullptr && member < before->members.size();
  return is.state == MemberState::kDown ||
         (was_there && before->members[member].incarnation != is.incarnation);
}

}  // namespace

ViewKeeper::ViewKeeper(std::string state_file)
    : state_file_(std::move(state_file)) {}

std::shared_ptr<const View> ViewKeeper::Current() const {
  const MutexLock lock(mutex_);
  return view_;
}

bool ViewKeeper::BeginWrite(std::uint64_t epoch, int member) {
  const MutexLock lock(mutex_);
  const bool other = changing_ || !view_ || view_->epoch != epoch;
  if (other && !Planted(PlantedBug::kIgnoreEpoch)) return false;
  ++writes_[static_cast<std::size_t>(member)];
  return true;
}

void ViewKeeper::EndWrite(int member) {
  std::function<void()> wake;
  {
    const MutexLock lock(mutex_);
    assert(writes_[static_cast<std::size_t>(member)] > 0);
    --writes_[static_cast<std::size_t>(member)];
    if (drain_waiter_ && DrainedLocked()) {
      wake = std::exchange(drain_waiter_, nullptr);
    }
  }
  if (wake) wake();
}

std::optional<ViewKeeper::DoubtId> ViewKeeper::PutInDoubt(std::uint64_t epoch,
                                                          int member) {
  std::function<void()> wake;
  std::optional<DoubtId> doubt;
  {
    const MutexLock lock(mutex_);
    const auto at = static_cast<std::size_t>(member);
    if (view_->epoch == epoch) {
      ++in_doubt_[at];
      doubt = DoubtId{member, departures_[at]};
    } else {
      --writes_[at];
    }
    if (drain_waiter_ && DrainedLocked()) {
      wake = std::exchange(drain_waiter_, nullptr);
    }
  }
  if (wake) wake();
  return doubt;
}

bool ViewKeeper::IsInDoubt(const DoubtId& doubt) const {
  const MutexLock lock(mutex_);
  return departures_[static_cast<std::size_t>(doubt.member)] ==
         doubt.departures;
}

void ViewKeeper::Resolve(const DoubtId& doubt) {
  const MutexLock lock(mutex_);
  const auto at = static_cast<std::size_t>(doubt.member);
  // A member that left took its doubts along.
  if (departures_[at] != doubt.departures) return;
  assert(in_doubt_[at] > 0);
  --in_doubt_[at];
  --writes_[at];
}

std::vector<int> ViewKeeper::MembersInDoubt() const {
  const MutexLock lock(mutex_);
  std::vector<int> members;
  for (std::size_t member = 0; member < in_doubt_.size(); ++member) {
    if (in_doubt_[member] > 0) members.push_back(static_cast<int>(member));
  }
  return members;
}

bool ViewKeeper::AtRest(std::function<void()> wake) {
  const MutexLock lock(mutex_);
  if (changing_) change_waiters_.push_back(std::move(wake));
  return !changing_;
}

bool ViewKeeper::BeginChange(std::function<void()> wake) {
  const MutexLock lock(mutex_);
  if (changing_) {
    change_waiters_.push_back(std::move(wake));
    return false;
  }
  changing_ = true;
  return true;
}

bool ViewKeeper::Drained(std::vector<int> leaving, std::function<void()> wake) {
  const MutexLock lock(mutex_);
  assert(changing_);
  leaving_ = std::move(leaving);
  if (DrainedLocked()) return true;
  drain_waiter_ = std::move(wake);
  return false;
}

bool ViewKeeper::DrainedLocked() const {
  for (std::size_t member = 0; member < writes_.size(); ++member) {
    const bool leaves = std::find(leaving_.begin(), leaving_.end(),
                                  static_cast<int>(member)) != leaving_.end();
    if (writes_[member] > in_doubt_[member] && !leaves) return false;
  }
  return true;
}

void ViewKeeper::NoteStored(const View& view) {
  auto stored = std::make_shared<const View>(view);
  const MutexLock lock(mutex_);
  stored_ = std::move(stored);
}

std::shared_ptr<const View> ViewKeeper::Newest() const {
  const MutexLock lock(mutex_);
  return stored_ && stored_->epoch > view_->epoch ? stored_ : view_;
}

void ViewKeeper::EndChange(std::shared_ptr<const View> view) {
  std::vector<std::function<void()>> waiters;
  {
    const MutexLock lock(mutex_);
    assert(changing_);
    changing_ = false;
    leaving_.clear();
    drain_waiter_ = nullptr;
    if (view) {
      const std::shared_ptr<const View> before =
          std::exchange(view_, std::move(view));
      version_.fetch_add(1);
      writes_.resize(view_->members.size());
      in_doubt_.resize(view_->members.size());
      departures_.resize(view_->members.size());
      for (std::size_t i = 0; i < writes_.size(); ++i) {
        if (!HasLeft(before.get(), *view_, i)) continue;
        writes_[i] -= std::exchange(in_doubt_[i], 0);
        ++departures_[i];
      }
    }
    waiters.swap(change_waiters_);
  }
  for (const auto& wake : waiters) wake();
}

Result<View> ViewKeeper::ReadStateFile() const {
  if (state_file_.empty()) {
    return Fail(StatusCode::kNotFound, "no state file is configured");
  }
  const auto unreadable = [this](const std::string& why) {
    return Fail(
        StatusCode::kIncompatible,
        fmt::format("the state file {} cannot be read: {}", state_file_, why));
  };
  std::error_code error;
  const auto about = std::filesystem::status(state_file_, error);
  if (about.type() == std::filesystem::file_type::not_found) {
    return Fail(StatusCode::kNotFound, "no state file yet");
  }
  if (error) return unreadable(error.message() + "; check its permissions");
  // A device or a pipe would never end, or never begin.
  if (about.type() != std::filesystem::file_type::regular) {
    return unreadable("it is not a regular file; name another");
  }
  std::ifstream file(state_file_, std::ios::binary);
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
                            state_file_, view.error().message()));
  }
  return view;
}

Status ViewKeeper::WriteStateFile(const View& view) const {
  if (state_file_.empty()) return {};
  const auto failed = [this](const std::string& why) {
    return Status(StatusCode::kIncompatible,
                  fmt::format("the state file {} cannot be written: {}",
                              state_file_, why));
  };
  const Result<View> there = ReadStateFile();
  if (there && there->epoch >= view.epoch) return {};
  // A name of its own (mkstemp fills in the Xs): other processes may be writing
  // theirs.
  std::string fresh = state_file_ + ".XXXXXX";
  const int made = mkstemp(fresh.data());
  if (made < 0) return failed(ErrorText(errno));
  close(made);
  {
    std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
    file << EncodeView(view);
    file.close();
    if (!file || !SyncPath(fresh) ||
        std::rename(fresh.c_str(), state_file_.c_str()) != 0) {
      const int error = errno;
      unlink(fresh.c_str());
      return failed(ErrorText(error));
    }
  }
  const auto folder = std::filesystem::path(state_file_).parent_path();
  SyncPath(folder.empty() ? "." : folder.string());
  return {};
}

}  // namespace ers::store
