#include "store/format/peer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "store/format/record.h"

namespace ers::store {

using nlohmann::json;

std::string EncodePeers(const std::vector<Peer>& peers) {
  json lines = json::array();
  for (const Peer& peer : peers) {
    lines.push_back({{"id", peer.id},
                     {"epoch", peer.epoch},
                     {"beat", peer.beat},
                     {"label", peer.label}});
  }
  return SealRecord({{"peers", std::move(lines)}});
}

Result<std::vector<Peer>> DecodePeers(std::string_view text) {
  std::vector<Peer> peers;
  const Status status =
      OpenRecord(text, "record of peers", [&peers](const json& root) {
        for (const json& line : root.at("peers")) {
          Peer peer;
          peer.id = UnsignedOf(line, "id");
          peer.epoch = UnsignedOf(line, "epoch");
          peer.beat = UnsignedOf(line, "beat");
          line.at("label").get_to(peer.label);
          peers.push_back(std::move(peer));
        }
        return Status();
      });
  if (!status.ok()) return Fail(status);
  return peers;
}

void MergePeers(const std::vector<Peer>& more, std::vector<Peer>& peers) {
  for (const Peer& peer : more) {
    const auto known = std::find_if(
        peers.begin(), peers.end(),
        [&peer](const Peer& other) { return other.id == peer.id; });
    if (known == peers.end()) {
      peers.push_back(peer);
    } else if (known->beat < peer.beat) {
      *known = peer;
    }
  }
}

}  // namespace ers::store
