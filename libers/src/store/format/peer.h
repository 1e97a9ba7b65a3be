// Peer: one process of those that share a cluster, as its line in the record
// under kPeersKey tells of it (docs/internals/view.md, Several processes).
#ifndef ERS_STORE_FORMAT_PEER_H_
#define ERS_STORE_FORMAT_PEER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ers/status.h"

namespace ers::store {

// Who comes when so many are there is refused.
inline constexpr std::size_t kMaxPeers = 256;

struct Peer {
  std::uint64_t id = 0;  // random; never zero
  // It sends no manifest write under an earlier view, and none is under way.
  std::uint64_t epoch = 0;
  // Rises with every sign of life.
  std::uint64_t beat = 0;
  std::string label;  // for people: "process 17 on host"
};

// One record for all. kNotManaged, kUnsupportedFormat or kCorruption where it
// is none.
std::string EncodePeers(const std::vector<Peer>& peers);
Result<std::vector<Peer>> DecodePeers(std::string_view text);

// Takes up what `more` tells of processes that `peers` does not have, or has
// less new.
void MergePeers(const std::vector<Peer>& more, std::vector<Peer>& peers);

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_PEER_H_
