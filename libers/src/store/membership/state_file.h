// StateFile: the newest view that a process knows, on disk.
#ifndef ERS_STORE_MEMBERSHIP_STATE_FILE_H_
#define ERS_STORE_MEMBERSHIP_STATE_FILE_H_

#include <string>
#include <utility>

#include "ers/status.h"
#include "store/format/view.h"

namespace ers::store {

// What the state file is to have next, synced to disk beside it. So nothing
// that takes long, or may fail for want of room, is left for when it is
// adopted. One that is not goes.
class StateFileDraft {
 public:
  StateFileDraft() = default;  // nothing is to be kept
  StateFileDraft(std::string draft, std::string file, std::uint64_t epoch)
      : draft_(std::move(draft)), file_(std::move(file)), epoch_(epoch) {}
  StateFileDraft(StateFileDraft&& other) noexcept
      : draft_(std::exchange(other.draft_, {})),
        file_(std::move(other.file_)),
        epoch_(other.epoch_) {}
  StateFileDraft& operator=(StateFileDraft&& other) noexcept;
  ~StateFileDraft();

  // Puts it in the place of the state file, unless that has a view as new.
  // kIncompatible: it cannot be, as the message says.
  [[nodiscard]] Status Adopt();

 private:
  std::string draft_;  // empty: none
  std::string file_;
  std::uint64_t epoch_ = 0;
};

// Several processes may share one. Any thread.
class StateFile {
 public:
  // `path` empty: none is kept.
  explicit StateFile(std::string path) : path_(std::move(path)) {}

  // The view in it; kNotFound where there is none, kIncompatible where it
  // cannot be read.
  [[nodiscard]] Result<View> Read() const;
  // kIncompatible: it cannot be written, as the message says.
  [[nodiscard]] Result<StateFileDraft> Draft(const View& view) const;

 private:
  const std::string path_;
};

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_STATE_FILE_H_
