#include "ctl/support/backup_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "ctl/support/key_text.h"
#include "ers/options.h"
#include "shared/plain_text.h"

namespace ers::ctl {
namespace {

constexpr std::string_view kMagic = "eRSback\n";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint8_t kObject = 1;
constexpr std::uint8_t kEnd = 2;
constexpr std::uint32_t kNoMoreChunks = 0;
constexpr std::uint32_t kAbandoned = ~std::uint32_t{0};
constexpr std::size_t kMaxChunk = kMaxGroupBytes;
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text));
}

template <typename Number>
std::array<std::byte, sizeof(Number)> LittleEndian(Number number) {
  std::array<std::byte, sizeof(Number)> bytes;
  auto rest = static_cast<std::uint64_t>(number);
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(rest & 0xff);
    rest >>= 8;
  }
  return bytes;
}

template <typename Number>
Number NumberOf(std::span<const std::byte> bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    number |= std::uint64_t{std::to_integer<std::uint8_t>(bytes[i])} << (8 * i);
  }
  return static_cast<Number>(number);
}

}  // namespace

BackupHash::BackupHash() : state_(XXH3_createState()) { Reset(); }

void BackupHash::Reset() { XXH3_64bits_reset(state_.get()); }

void BackupHash::Add(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
}

std::uint64_t BackupHash::Digest() const {
  return XXH3_64bits_digest(state_.get());
}

// --- Writing -----------------------------------------------------------------

Status BackupWriter::Put(std::span<const std::byte> bytes) {
  all_.Add(bytes);
  if (buffer_.size() + bytes.size() > kBufferBytes) {
    Status status = Flush();
    if (!status.ok()) return status;
  }
  if (bytes.size() >= kBufferBytes) return sink_(bytes);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  return {};
}

template <typename Number>
Status BackupWriter::PutNumber(Number number) {
  return Put(LittleEndian(number));
}

Status BackupWriter::Flush() {
  if (buffer_.empty()) return {};
  Status status = sink_(buffer_);
  buffer_.clear();
  return status;
}

Status BackupWriter::Begin() {
  Status status = Put(BytesOf(kMagic));
  return status.ok() ? PutNumber(kVersion) : status;
}

Status BackupWriter::BeginObject(const BackupObject& object) {
  std::vector<std::byte> head;
  const auto add = [&head](std::span<const std::byte> bytes) {
    head.insert(head.end(), bytes.begin(), bytes.end());
  };
  add(LittleEndian(kObject));
  add(LittleEndian(static_cast<std::uint16_t>(object.key.size())));
  add(LittleEndian(static_cast<std::uint8_t>(object.scheme.size())));
  add(LittleEndian(static_cast<std::uint8_t>(object.width.size())));
  add(LittleEndian(object.client_flags));
  add(LittleEndian(object.expiry));
  add(BytesOf(object.key));
  add(BytesOf(object.scheme));
  add(BytesOf(object.width));
  one_.Reset();
  one_.Add(head);
  add(LittleEndian(one_.Digest()));
  one_.Reset();
  value_bytes_ = 0;
  return Put(head);
}

Status BackupWriter::Bytes(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto chunk = bytes.first(std::min(bytes.size(), kMaxChunk));
    bytes = bytes.subspan(chunk.size());
    one_.Add(chunk);
    value_bytes_ += chunk.size();
    Status status = PutNumber(static_cast<std::uint32_t>(chunk.size()));
    if (status.ok()) status = Put(chunk);
    if (!status.ok()) return status;
  }
  return {};
}

Status BackupWriter::EndObject() {
  ++counts_.objects;
  counts_.bytes += value_bytes_;
  Status status = PutNumber(kNoMoreChunks);
  return status.ok() ? PutNumber(one_.Digest()) : status;
}

Status BackupWriter::Abandon() { return PutNumber(kAbandoned); }

Status BackupWriter::End() {
  Status status = PutNumber(kEnd);
  if (status.ok()) status = PutNumber(counts_.objects);
  if (status.ok()) status = PutNumber(counts_.bytes);
  if (status.ok()) status = PutNumber(all_.Digest());
  return status.ok() ? Flush() : status;
}

// --- Reading -----------------------------------------------------------------

tl::unexpected<Status> BackupReader::Damaged(std::string_view what) const {
  return Fail(
      StatusCode::kCorruption,
      fmt::format("the backup is damaged behind {}{}: {}",
                  proxy::CountText(counts_.objects, "object"),
                  key_.empty() ? std::string() : ", at key " + KeyText(key_),
                  what));
}

Result<std::size_t> BackupReader::Refill() {
  buffer_.resize(kBufferBytes);
  Result<std::size_t> got = source_(buffer_);
  used_ = 0;
  filled_ = got ? *got : 0;
  return got;
}

Status BackupReader::Get(std::span<std::byte> into) {
  for (std::size_t at = 0; at < into.size();) {
    if (used_ == filled_) {
      const Result<std::size_t> got = Refill();
      if (!got) return got.error();
      if (*got == 0) return Damaged("it is cut off").value();
    }
    const std::size_t taken = std::min(into.size() - at, filled_ - used_);
    std::memcpy(into.data() + at, buffer_.data() + used_, taken);
    used_ += taken;
    at += taken;
  }
  all_.Add(into);
  return {};
}

template <typename Number>
Result<Number> BackupReader::GetNumber() {
  std::array<std::byte, sizeof(Number)> bytes{};
  Status status = Get(bytes);
  if (!status.ok()) return Fail(std::move(status));
  return NumberOf<Number>(bytes);
}

Result<std::string> BackupReader::GetText(std::size_t bytes) {
  std::string text(bytes, '\0');
  Status status = Get(std::as_writable_bytes(std::span(text)));
  if (!status.ok()) return Fail(std::move(status));
  return text;
}

Status BackupReader::Begin() {
  const Result<std::string> magic = GetText(kMagic.size());
  if (!magic && magic.error().code() != StatusCode::kCorruption) {
    return magic.error();
  }
  if (!magic || *magic != kMagic) {
    return {StatusCode::kNotManaged, "this is no backup of ersctl's"};
  }
  const Result<std::uint32_t> version = GetNumber<std::uint32_t>();
  if (!version) return version.error();
  if (*version == kVersion) return {};
  return {StatusCode::kUnsupportedFormat,
          fmt::format("the backup has format {}, and this ersctl reads {}",
                      *version, kVersion)};
}

Result<std::optional<BackupObject>> BackupReader::Next() {
  if (in_value_) {
    const Result<bool> skipped = Skip();
    if (!skipped) return Fail(skipped.error());
  }
  key_.clear();
  const Result<std::uint8_t> kind = GetNumber<std::uint8_t>();
  if (!kind) return Fail(kind.error());
  if (*kind == kEnd) {
    Status status = ReadEnd();
    if (!status.ok()) return Fail(std::move(status));
    return std::optional<BackupObject>();
  }
  if (*kind != kObject) return Damaged("no object begins here");
  Result<BackupObject> object = ReadObject();
  if (!object) return Fail(object.error());
  return std::optional(std::move(*object));
}

Result<BackupObject> BackupReader::ReadObject() {
  constexpr std::size_t kHead = 2 + 1 + 1 + 4 + 8;
  std::array<std::byte, kHead> head{};
  Status status = Get(head);
  if (!status.ok()) return Fail(std::move(status));
  const std::span<const std::byte> bytes(head);
  const auto key_bytes = NumberOf<std::uint16_t>(bytes.subspan(0, 2));
  const auto scheme_bytes = NumberOf<std::uint8_t>(bytes.subspan(2, 1));
  const auto width_bytes = NumberOf<std::uint8_t>(bytes.subspan(3, 1));
  if (key_bytes == 0 || key_bytes > kMaxKeyBytes) {
    return Damaged("a key's length is none");
  }
  BackupObject object;
  object.client_flags = NumberOf<std::uint32_t>(bytes.subspan(4, 4));
  object.expiry = NumberOf<std::int64_t>(bytes.subspan(8, 8));
  for (const auto& [text, length] :
       {std::pair<std::string*, std::size_t>{&object.key, key_bytes},
        {&object.scheme, scheme_bytes},
        {&object.width, width_bytes}}) {
    Result<std::string> got = GetText(length);
    if (!got) return Fail(got.error());
    *text = std::move(*got);
  }
  one_.Reset();
  one_.Add(LittleEndian(kObject));
  one_.Add(bytes);
  one_.Add(BytesOf(object.key));
  one_.Add(BytesOf(object.scheme));
  one_.Add(BytesOf(object.width));
  const std::uint64_t wanted = one_.Digest();
  const Result<std::uint64_t> checksum = GetNumber<std::uint64_t>();
  if (!checksum) return Fail(checksum.error());
  if (*checksum != wanted) return Damaged("the checksum of a head is wrong");
  key_ = object.key;
  in_value_ = true;
  chunk_left_ = 0;
  value_bytes_ = 0;
  one_.Reset();
  return object;
}

// False: the value has ended, whole.
Result<bool> BackupReader::NextChunk() {
  const Result<std::uint32_t> bytes = GetNumber<std::uint32_t>();
  if (!bytes) return Fail(bytes.error());
  if (*bytes == kAbandoned) {
    in_value_ = false;
    return Fail(StatusCode::kConflict, "it was abandoned");
  }
  if (*bytes != kNoMoreChunks) {
    value_bytes_ += *bytes;
    if (*bytes > kMaxChunk || value_bytes_ > kMaxValueBytes) {
      return Damaged("a value's length is none");
    }
    chunk_left_ = *bytes;
    return true;
  }
  const Result<std::uint64_t> checksum = GetNumber<std::uint64_t>();
  if (!checksum) return Fail(checksum.error());
  if (*checksum != one_.Digest()) return Damaged("its checksum is wrong");
  in_value_ = false;
  ++counts_.objects;
  counts_.bytes += value_bytes_;
  return false;
}

Result<std::size_t> BackupReader::Read(std::span<std::byte> into) {
  if (!in_value_ || into.empty()) return std::size_t{0};
  if (chunk_left_ == 0) {
    const Result<bool> more = NextChunk();
    if (!more) return Fail(more.error());
    if (!*more) return std::size_t{0};
  }
  const auto part = into.first(std::min<std::size_t>(into.size(), chunk_left_));
  Status status = Get(part);
  if (!status.ok()) return Fail(std::move(status));
  one_.Add(part);
  chunk_left_ -= static_cast<std::uint32_t>(part.size());
  return part.size();
}

Result<bool> BackupReader::Skip() {
  std::vector<std::byte> rest(kBufferBytes);
  while (in_value_) {
    const Result<std::size_t> got = Read(rest);
    if (got) continue;
    if (got.error().code() == StatusCode::kConflict) return false;
    return Fail(got.error());
  }
  return true;
}

Status BackupReader::ReadEnd() {
  const Result<std::uint64_t> objects = GetNumber<std::uint64_t>();
  const Result<std::uint64_t> bytes =
      objects ? GetNumber<std::uint64_t>() : objects;
  if (!bytes) return bytes.error();
  const std::uint64_t wanted = all_.Digest();
  const Result<std::uint64_t> checksum = GetNumber<std::uint64_t>();
  if (!checksum) return checksum.error();
  if (*objects != counts_.objects || *bytes != counts_.bytes ||
      *checksum != wanted) {
    return Damaged("its end does not fit what was read").value();
  }
  const Result<std::size_t> behind =
      used_ < filled_ ? Result<std::size_t>(filled_ - used_) : Refill();
  if (!behind) return behind.error();
  return *behind == 0 ? Status() : Damaged("something follows its end").value();
}

}  // namespace ers::ctl
