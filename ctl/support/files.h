// The files that values come from and go to.
#ifndef ERS_CTL_SUPPORT_FILES_H_
#define ERS_CTL_SUPPORT_FILES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ers/client.h"
#include "ers/status.h"

namespace ers::ctl {

// A file descriptor that is closed with its owner. -1: none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  [[nodiscard]] int get() const { return number_; }
  // Now, and says what only close says: 0, or -1 and errno.
  int Close();

 private:
  int number_;
};

// A file or, as "-", standard input. Errors are kInvalidArgument and name it.
class Input {
 public:
  static Result<Input> Open(const std::string& path);

  // 0 where it is not known: no regular file.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Fills `into` unless the end comes first; 0 at the end. A regular file that
  // became shorter than size() is an error, never a shorter value.
  Result<std::size_t> Read(std::span<std::byte> into);
  // All the rest, at most kMaxValueBytes: kTooLarge beyond.
  Result<std::vector<std::byte>> ReadAll();

 private:
  Input() = default;

  std::string name_;
  Descriptor owned_;
  int descriptor_ = -1;
  bool regular_ = false;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;
};

// Where a value goes: standard output ("" or "-"), a device or pipe, or a file
// that appears under its name, whole and on the disk, when Commit is called.
// Destroyed without that, or killed, it leaves an older file of that name as it
// was. Errors are kInvalidArgument and name the file.
class Output {
 public:
  static Result<Output> Open(const std::string& path);
  Output(Output&& other) noexcept = default;
  Output& operator=(Output&& other) noexcept = delete;
  ~Output();

  Status Write(std::span<const std::byte> bytes);
  Status Commit();

 private:
  Output() = default;
  Status OpenBeside(unsigned mode);
  Status Failed(const char* what) const;
  Status NotCommitted(const char* what);
  Status SyncFolder() const;

  std::string name_;     // as the user wrote it
  std::string target_;   // empty: bytes go straight to where they belong
  std::string beside_;   // temporary name in the target's folder
  bool linked_ = false;  // `beside_` exists and is ours to remove
  Descriptor owned_;
  int descriptor_ = -1;
};

}  // namespace ers::ctl

#endif  // ERS_CTL_SUPPORT_FILES_H_
