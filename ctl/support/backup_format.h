// BackupWriter, BackupReader: objects as one stream of bytes, as
// docs/reference/backup.md describes it. No cluster, no file.
#ifndef ERS_CTL_SUPPORT_BACKUP_FORMAT_H_
#define ERS_CTL_SUPPORT_BACKUP_FORMAT_H_

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ers/status.h"
#include "ers/value.h"

namespace ers::ctl {

// All of an object but its value.
struct BackupObject {
  std::string key;
  std::string scheme;  // as FormatScheme writes it
  std::string width;   // as WidthName does
  std::uint32_t client_flags = 0;
  std::int64_t expiry = 0;  // Unix seconds, 0 never

  bool operator==(const BackupObject&) const = default;
};

struct BackupCounts {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;  // of their values
};

// A checksum that grows with what it is given.
class BackupHash {
 public:
  BackupHash();
  void Reset();
  void Add(std::span<const std::byte> bytes);
  [[nodiscard]] std::uint64_t Digest() const;

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

// Begin, then for each object BeginObject, Bytes as often as it takes, and
// EndObject or Abandon; then End. A failure is the sink's.
class BackupWriter {
 public:
  explicit BackupWriter(Sink sink) : sink_(std::move(sink)) {}

  Status Begin();
  Status BeginObject(const BackupObject& object);
  Status Bytes(std::span<const std::byte> bytes);
  Status EndObject();
  // Its value could not be read to the end: readers leave it out.
  Status Abandon();
  Status End();
  [[nodiscard]] const BackupCounts& counts() const { return counts_; }

 private:
  Status Put(std::span<const std::byte> bytes);
  template <typename Number>
  Status PutNumber(Number number);
  Status Flush();

  const Sink sink_;
  std::vector<std::byte> buffer_;
  BackupHash all_;
  BackupHash one_;  // of a record's head, then of its value
  std::uint64_t value_bytes_ = 0;
  BackupCounts counts_;
};

// kCorruption: what was read is damaged or cut off, and where. Nothing can be
// read behind a failure.
class BackupReader {
 public:
  explicit BackupReader(Source source) : source_(std::move(source)) {}

  // kNotManaged: no backup. kUnsupportedFormat: of a newer version.
  Status Begin();
  // The value of the object before is read to its end first. Empty: the end,
  // and all that was written is here, whole.
  Result<std::optional<BackupObject>> Next();
  // The next bytes of the object's value; 0 at its end, when its checksum was
  // right. kConflict: it was abandoned, and is none.
  Result<std::size_t> Read(std::span<std::byte> into);
  // To the end of its value. False: it was abandoned.
  Result<bool> Skip();
  [[nodiscard]] const BackupCounts& counts() const { return counts_; }

 private:
  Result<std::size_t> Refill();
  Status Get(std::span<std::byte> into);
  template <typename Number>
  Result<Number> GetNumber();
  Result<std::string> GetText(std::size_t bytes);
  Result<BackupObject> ReadObject();
  Result<bool> NextChunk();
  Status ReadEnd();
  [[nodiscard]] tl::unexpected<Status> Damaged(std::string_view what) const;

  const Source source_;
  std::vector<std::byte> buffer_;
  std::size_t used_ = 0;
  std::size_t filled_ = 0;
  BackupHash all_;
  BackupHash one_;
  std::string key_;  // of the object
  bool in_value_ = false;
  std::uint32_t chunk_left_ = 0;
  std::uint64_t value_bytes_ = 0;
  BackupCounts counts_;
};

}  // namespace ers::ctl

#endif  // ERS_CTL_SUPPORT_BACKUP_FORMAT_H_
