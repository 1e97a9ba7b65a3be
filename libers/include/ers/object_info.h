// What calls report of objects, blocks and servers. Plain values.
#ifndef ERS_OBJECT_INFO_H_
#define ERS_OBJECT_INFO_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ers/scheme.h"

namespace ers {

struct ObjectInfo {
  Scheme scheme;
  Width width = Width::kNarrow;
  bool is_inline = false;    // the value rides in the manifest
  std::string pack;          // key of the pack that has the value; mostly empty
  std::uint64_t length = 0;  // bytes
  Unit unit = Unit::kBlocks;      // what the items are, when not inline
  std::uint64_t group_bytes = 0;  // value bytes of a full group
  int groups = 0;                 // 0 when inline or packed
  std::uint32_t client_flags = 0;
  std::uint64_t cas = 0;    // changes exactly when content does
  std::int64_t expiry = 0;  // Unix seconds, 0 never
  std::string version;      // change id, 32 hex digits
  // Marks of memcached's meta protocol (protocol.txt, "Stale items"): the value
  // was invalidated and kept; one client was asked to put a new one. A put
  // clears them, all else keeps them.
  bool stale = false;
  bool won = false;
};

struct GetInfo : ObjectInfo {
  bool degraded = false;    // some blocks had to be decoded
  int repaired_blocks = 0;  // written back on the way
};

enum class StoredBlockKind { kData, kParity };

struct BlockState {
  int group = 0;
  int block = 0;  // id in the group, of a block or column (format.md)
  StoredBlockKind kind = StoredBlockKind::kData;
  int stripe = 0;           // under the object's width
  int node = 0;             // X_node of the group
  std::string server;       // member name
  std::uint64_t bytes = 0;  // payload
  // On the server and its size is right. False for blocks that were never
  // staged, are gone, or whose server does not answer.
  bool present = false;
};

struct ObjectDetail : ObjectInfo {
  std::vector<BlockState> blocks;
  // Members that hold the manifest, the primary last.
  std::vector<std::string> replicas;
};

// How a transition was done.
enum class TransitionPath {
  kPlan,      // to another width, or m too: no data block moved
  kReencode,  // read and written anew
  kParity,    // parity blocks added or dropped: no other block moved
};
// "plan", "reencode" or "parity".
ERS_API std::string_view TransitionPathName(TransitionPath path);

// Blocks and payload bytes that moved, counted as requests were answered.
struct BlockTraffic {
  std::uint64_t data_reads = 0;
  std::uint64_t parity_reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;

  BlockTraffic& operator+=(const BlockTraffic& other) {
    data_reads += other.data_reads;
    parity_reads += other.parity_reads;
    writes += other.writes;
    bytes_read += other.bytes_read;
    bytes_written += other.bytes_written;
    return *this;
  }
};

// Each of its counts by its name, for a program that prints all.
struct BlockTrafficField {
  std::string_view name;
  std::uint64_t BlockTraffic::* count;
};
inline constexpr BlockTrafficField kBlockTrafficFields[] = {
    {"data_reads", &BlockTraffic::data_reads},
    {"parity_reads", &BlockTraffic::parity_reads},
    {"writes", &BlockTraffic::writes},
    {"bytes_read", &BlockTraffic::bytes_read},
    {"bytes_written", &BlockTraffic::bytes_written},
};

struct TransitionInfo : BlockTraffic {
  TransitionPath path = TransitionPath::kPlan;
  std::uint64_t microseconds = 0;
  ObjectInfo object;  // as it is now
};

enum class MemberState { kInSync, kBackfilling, kDown };
// "in_sync", "backfilling" or "down". Static storage.
ERS_API std::string_view MemberStateName(MemberState state);

struct ServerInfo {
  std::string name;  // its address
  // Its place on the ring: the address of the server that the cluster was set
  // up with, which it may have replaced.
  std::string slot;
  int weight = 1;
  MemberState state = MemberState::kInSync;
  std::uint64_t incarnation = 0;
  std::int64_t since = 0;  // Unix seconds of the last change of state
  bool answers = false;    // just now, also with another memory than it had
  bool reachable = false;  // it does with the memory of the view
  std::string version;     // memcached's, and what is next, where it answers
  std::uint64_t item_size_max = 0;
  bool evictions = false;
  std::string last_error;
};

struct ClusterInfo {
  std::uint64_t epoch = 0;  // of the view; 0: the cluster was never used
  int max_failures = 0;     // f
  // Unix seconds by the servers' clocks: what expires goes by it.
  std::int64_t time = 0;
  std::vector<ServerInfo> servers;
};

}  // namespace ers

#endif  // ERS_OBJECT_INFO_H_
