// The calls of ers/ers.h that inspect without reading values.
#include <chrono>
#include <vector>

#include "client/c_api.h"

using ers::Client;
using ers::Result;
using ers::Status;
using ers::StatusCode;
using ers::c_api::Call;
using ers::c_api::CallKind;
using ers::c_api::KeyOf;
using ers::c_api::NullArgument;
using ers::c_api::ToC;

namespace {

// What the caller owns: the C view, and the strings that it points into.
struct OwnedDetail : ers_object_detail {
  ers::ObjectDetail source;
  std::vector<ers_block_state> block_states;
  std::vector<const char*> replica_names;
};

struct OwnedClusterInfo : ers_cluster_info {
  ers::ClusterInfo source;
  std::vector<ers_server_info> server_infos;
};

ers_member_state StateToC(ers::MemberState state) {
  switch (state) {
    case ers::MemberState::kInSync:
      return ERS_IN_SYNC;
    case ers::MemberState::kBackfilling:
      return ERS_BACKFILLING;
    case ers::MemberState::kDown:
      break;
  }
  return ERS_DOWN;
}

ers_block_state BlockToC(const ers::BlockState& block) {
  ers_block_state out = {};
  out.group = block.group;
  out.block = block.block;
  out.is_parity = block.kind == ers::StoredBlockKind::kParity ? 1 : 0;
  out.stripe = block.stripe;
  out.node = block.node;
  out.server = block.server.c_str();
  out.bytes = block.bytes;
  out.present = block.present ? 1 : 0;
  return out;
}

ers_server_info ServerToC(const ers::ServerInfo& server) {
  ers_server_info out = {};
  out.name = server.name.c_str();
  out.weight = server.weight;
  out.state = StateToC(server.state);
  out.incarnation = server.incarnation;
  out.since = server.since;
  out.reachable = server.reachable ? 1 : 0;
  out.version = server.version.c_str();
  out.item_size_max = server.item_size_max;
  out.evictions = server.evictions ? 1 : 0;
  out.last_error = server.last_error.c_str();
  return out;
}

}  // namespace

extern "C" {

ers_status ers_stat(ers_client* client, const char* key, size_t key_bytes,
                    const ers_object_detail** detail) {
  return Call(client, CallKind::kReads, [&](Client& c) -> Status {
    if (detail == nullptr) return NullArgument("detail");
    *detail = nullptr;
    const Result<std::string_view> name = KeyOf(key, key_bytes);
    if (!name) return name.error();
    Result<ers::ObjectDetail> stat = c.Stat(*name);
    if (!stat) return stat.error();
    auto owned = std::make_unique<OwnedDetail>();
    owned->source = std::move(*stat);
    for (const ers::BlockState& block : owned->source.blocks) {
      owned->block_states.push_back(BlockToC(block));
    }
    for (const std::string& replica : owned->source.replicas) {
      owned->replica_names.push_back(replica.c_str());
    }
    ToC(static_cast<const ers::ObjectInfo&>(owned->source), &owned->object);
    owned->blocks = owned->block_states.data();
    owned->block_count = owned->block_states.size();
    owned->replicas = owned->replica_names.data();
    owned->replica_count = owned->replica_names.size();
    *detail = owned.release();
    return {};
  });
}

void ers_object_detail_free(const ers_object_detail* detail) {
  delete static_cast<const OwnedDetail*>(detail);
}

ers_status ers_list(ers_client* client, ers_visit visit, void* context) {
  return Call(client, CallKind::kReads, [&](Client& c) -> Status {
    if (visit == nullptr) return NullArgument("visit");
    return c.List([&](std::string_view key, const ers::ObjectInfo& info) {
      ers_object_info out;
      ToC(info, &out);
      return visit(context, key.data(), key.size(), &out) == 0;
    });
  });
}

ers_status ers_servers(ers_client* client, const ers_cluster_info** info) {
  return Call(client, CallKind::kReads, [&](Client& c) -> Status {
    if (info == nullptr) return NullArgument("info");
    *info = nullptr;
    Result<ers::ClusterInfo> cluster = c.Servers();
    if (!cluster) return cluster.error();
    auto owned = std::make_unique<OwnedClusterInfo>();
    owned->source = std::move(*cluster);
    for (const ers::ServerInfo& server : owned->source.servers) {
      owned->server_infos.push_back(ServerToC(server));
    }
    owned->epoch = owned->source.epoch;
    owned->max_failures = owned->source.max_failures;
    owned->time = owned->source.time;
    owned->servers = owned->server_infos.data();
    owned->server_count = owned->server_infos.size();
    *info = owned.release();
    return {};
  });
}

void ers_garbage_options_init(ers_garbage_options* options) {
  const ers::GarbageOptions defaults;
  *options = {defaults.grace.count(), defaults.objects_per_second,
              defaults.dry_run ? 1 : 0};
}

ers_status ers_collect_garbage(ers_client* client,
                               const ers_garbage_options* options,
                               ers_garbage_report* report) {
  return Call(client, CallKind::kChanges, [&](Client& c) -> Status {
    ers::GarbageOptions cpp;
    if (options != nullptr) {
      if (options->grace_ms < 0) {
        return {StatusCode::kInvalidArgument, "grace_ms is negative"};
      }
      cpp.grace = std::chrono::milliseconds(options->grace_ms);
      cpp.objects_per_second = options->objects_per_second;
      cpp.dry_run = options->dry_run != 0;
    }
    const ers::Result<ers::GarbageReport> done = c.CollectGarbage(cpp);
    if (!done) return done.error();
    if (report == nullptr) return {};
    *report = {done->listed,
               done->live,
               done->young,
               done->expiring,
               done->dropped,
               done->dropped_bytes,
               done->skipped,
               done->flushed,
               done->packs,
               done->silent,
               {}};
    done->why.message().copy(report->why, sizeof report->why - 1);
    return {};
  });
}

void ers_cluster_info_free(const ers_cluster_info* info) {
  delete static_cast<const OwnedClusterInfo*>(info);
}

}  // extern "C"
