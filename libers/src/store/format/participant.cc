#include "store/format/participant.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/crc32c.h"
#include "base/wire.h"
#include "store/format/record.h"

namespace ers::store {

using nlohmann::json;

namespace {

constexpr std::uint64_t kRegistryFormat = 2;
// A memcached takes and clears a MiB for each class of item sizes that it has
// not held before: so a registry stays in one, whatever processes come.
constexpr std::size_t kRegistryStep = 1024;
constexpr std::string_view kEntryMagic = "eRSp";
constexpr std::uint8_t kEntryFormat = 1;
constexpr std::size_t kEntryBytes = 36;

void ReadLine(const json& line, Registry& registry) {
  Participant participant;
  participant.id = UnsignedOf(line, "id");
  line.at("label").get_to(participant.label);
  registry.participants.push_back(std::move(participant));
}

void ReadOlderLine(const json& line, Registry& registry) {
  OlderParticipant older;
  older.id = UnsignedOf(line, "id");
  older.heartbeat = UnsignedOf(line, "beat");
  line.at("label").get_to(older.label);
  registry.older.push_back(std::move(older));
}

}  // namespace

bool Registry::Lists(std::uint64_t id) const {
  return std::any_of(
      participants.begin(), participants.end(),
      [id](const Participant& participant) { return participant.id == id; });
}

std::string EncodeRegistry(const std::vector<Participant>& participants) {
  json lines = json::array();
  for (const Participant& participant : participants) {
    lines.push_back({{"id", participant.id}, {"label", participant.label}});
  }
  std::string text = SealRecord({{"peers", std::move(lines)}}, kRegistryFormat);
  const std::size_t steps = (text.size() + kRegistryStep - 1) / kRegistryStep;
  text.resize(steps * kRegistryStep, ' ');
  return text;
}

Result<Registry> DecodeRegistry(std::string_view text) {
  Registry registry;
  const Status status = OpenRecord(
      text, "record of peers",
      [&registry](const json& root) {
        const bool older = UnsignedOf(root, "format") < kRegistryFormat;
        for (const json& line : root.at("peers")) {
          older ? ReadOlderLine(line, registry) : ReadLine(line, registry);
        }
        return Status();
      },
      kRegistryFormat);
  if (!status.ok()) return Fail(status);
  return registry;
}

std::string EncodeEntry(const Entry& entry) {
  std::string out;
  out.reserve(kEntryBytes);
  WireWriter wire(out);
  wire.PutBytes(kEntryMagic);
  wire.Put(kEntryFormat);
  wire.Put(std::uint8_t{0});
  wire.Put(static_cast<std::uint16_t>(entry.terms.lease_for.count()));
  wire.Put(entry.id);
  wire.Put(entry.terms.epoch);
  wire.Put(entry.count);
  wire.Put(Crc32c(out));
  return out;
}

Result<Entry> DecodeEntry(std::string_view bytes) {
  constexpr std::size_t kHead = kEntryMagic.size() + 1;
  if (bytes.size() < kHead || !bytes.starts_with(kEntryMagic)) {
    return Fail(StatusCode::kNotManaged, "not an entry of a process");
  }
  const auto format = static_cast<std::uint8_t>(bytes[kEntryMagic.size()]);
  if (format > kEntryFormat) {
    return Fail(StatusCode::kUnsupportedFormat,
                "the entry of a process was written by a newer version of this "
                "library: upgrade it");
  }
  const auto corrupted =
      Fail(StatusCode::kCorruption, "the entry of a process is corrupted");
  if (bytes.size() != kEntryBytes) return corrupted;
  Entry entry;
  WireReader wire(bytes.substr(kHead + 1));
  entry.terms.lease_for = std::chrono::milliseconds(wire.Get<std::uint16_t>());
  entry.id = wire.Get<std::uint64_t>();
  entry.terms.epoch = wire.Get<std::uint64_t>();
  entry.count = wire.Get<std::uint64_t>();
  // Whatever is not as it would be written is damaged.
  if (EncodeEntry(entry) != bytes) return corrupted;
  return entry;
}

}  // namespace ers::store
