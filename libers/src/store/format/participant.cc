#include "store/format/participant.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "store/format/record.h"

namespace ers::store {

using nlohmann::json;

std::string EncodeParticipants(const std::vector<Participant>& participants) {
  json lines = json::array();
  for (const Participant& participant : participants) {
    lines.push_back({{"id", participant.id},
                     {"epoch", participant.epoch},
                     {"beat", participant.heartbeat},
                     {"label", participant.label}});
  }
  return SealRecord({{"peers", std::move(lines)}});
}

Result<std::vector<Participant>> DecodeParticipants(std::string_view text) {
  std::vector<Participant> participants;
  const Status status =
      OpenRecord(text, "record of peers", [&participants](const json& root) {
        for (const json& line : root.at("peers")) {
          Participant participant;
          participant.id = UnsignedOf(line, "id");
          participant.epoch = UnsignedOf(line, "epoch");
          participant.heartbeat = UnsignedOf(line, "beat");
          line.at("label").get_to(participant.label);
          participants.push_back(std::move(participant));
        }
        return Status();
      });
  if (!status.ok()) return Fail(status);
  return participants;
}

void MergeParticipants(const std::vector<Participant>& more,
                       std::vector<Participant>& participants) {
  for (const Participant& participant : more) {
    const auto known = std::find_if(participants.begin(), participants.end(),
                                    [&participant](const Participant& other) {
                                      return other.id == participant.id;
                                    });
    if (known == participants.end()) {
      participants.push_back(participant);
    } else if (known->heartbeat < participant.heartbeat) {
      *known = participant;
    }
  }
}

}  // namespace ers::store
