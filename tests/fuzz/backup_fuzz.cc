// Any bytes as a backup: read to the end, or to a failure that says why; what
// was read whole is written again in the same bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ctl/support/backup_format.h"
#include "ers/options.h"
#include "fuzz/require.h"

namespace ers::ctl {
namespace {

using fuzz::Require;
using Bytes = std::vector<std::byte>;

struct Read {
  std::vector<std::pair<BackupObject, Bytes>> objects;
  std::size_t abandoned = 0;
  bool whole = false;
};

// The value of the object; empty: it was abandoned, or is damaged.
std::optional<Bytes> ReadValue(BackupReader& reader, bool* damaged) {
  Bytes value;
  Bytes piece(100);
  for (;;) {
    const Result<std::size_t> got = reader.Read(piece);
    if (!got) {
      *damaged = got.error().code() != StatusCode::kConflict;
      Require(!got.error().message().empty(), "a failure says why");
      return std::nullopt;
    }
    if (*got == 0) return value;
    value.insert(value.end(), piece.begin(),
                 piece.begin() + static_cast<std::ptrdiff_t>(*got));
  }
}

Read ReadAll(std::span<const std::byte> input) {
  Read read;
  BackupReader reader([&input](std::span<std::byte> into) {
    const std::size_t taken = std::min(into.size(), input.size());
    std::copy_n(input.begin(), taken, into.begin());
    input = input.subspan(taken);
    return Result<std::size_t>(taken);
  });
  if (!reader.Begin().ok()) return read;
  for (;;) {
    const Result<std::optional<BackupObject>> object = reader.Next();
    if (!object) {
      Require(!object.error().message().empty(), "a failure says why");
      return read;
    }
    if (!*object) break;
    Require(!(*object)->key.empty() && (*object)->key.size() <= kMaxKeyBytes,
            "a key has its limits");
    bool damaged = false;
    std::optional<Bytes> value = ReadValue(reader, &damaged);
    if (damaged) return read;
    if (value) {
      read.objects.emplace_back(**object, std::move(*value));
    } else {
      ++read.abandoned;
    }
  }
  read.whole = true;
  Require(reader.counts().objects == read.objects.size(),
          "all that is read is counted");
  return read;
}

Bytes WriteAll(const Read& read) {
  Bytes output;
  BackupWriter writer([&output](std::span<const std::byte> bytes) {
    output.insert(output.end(), bytes.begin(), bytes.end());
    return Status();
  });
  bool good = writer.Begin().ok();
  for (const auto& [object, value] : read.objects) {
    good = good && writer.BeginObject(object).ok() &&
           writer.Bytes(value).ok() && writer.EndObject().ok();
  }
  Require(good && writer.End().ok(), "a backup can be written");
  return output;
}

}  // namespace
}  // namespace ers::ctl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace ers::ctl;
  const Read read = ReadAll(std::as_bytes(std::span(data, size)));
  const Bytes again = WriteAll(read);
  const Read reread = ReadAll(again);
  ers::fuzz::Require(reread.whole && reread.objects == read.objects,
                     "what is written is read as it was");
  return 0;
}
