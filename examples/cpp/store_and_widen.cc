// Stores a value, reads it back, makes it wide and reads it again.
//
//   store_and_widen host:port,host:port,...   (six servers or more)
//
// What it leaves out, for shortness:
//  - it keeps no state file, so a restart would trust the servers alone for
//    the newest view (ClusterOptions::state_file);
//  - it treats every failure as the end: a real program would try again after
//    kUnavailable, and read the key after kOutcomeUnknown;
//  - it holds the value in memory: PutFrom and GetTo stream.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "ers/client.h"

namespace {

constexpr const char* kKey = "example-cpp";
constexpr std::size_t kBytes = 1000000;

int Fail(const char* what, const ers::Status& status) {
  std::fprintf(stderr, "%s: %s\n", what, status.message().c_str());
  return 1;
}

// Reads the object and compares it with `expected`.
int Check(ers::Client& client, const std::vector<std::byte>& expected) {
  ers::Value value;  // one for all reads: its memory is used again
  const ers::Result<ers::GetInfo> info = client.Get(kKey, value);
  if (!info) return Fail("get", info.error());
  if (!std::ranges::equal(value.bytes(), expected)) {
    std::fprintf(stderr, "get: other bytes than stored\n");
    return 1;
  }
  std::printf("read %zu bytes, %s\n", value.size(),
              info->width == ers::Width::kWide ? "wide" : "narrow");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: store_and_widen host:port,...\n");
    return 2;
  }
  // One Cluster per process, one Client per thread.
  ers::ClusterOptions cluster_options;
  cluster_options.servers = argv[1];
  auto cluster = ers::Cluster::Open(std::move(cluster_options));
  if (!cluster) return Fail("cluster", cluster.error());
  auto opened = ers::Client::Open(*cluster, {});
  if (!opened) return Fail("client", opened.error());
  ers::Client& client = **opened;

  std::vector<std::byte> value(kBytes);
  for (std::size_t i = 0; i < value.size(); ++i) {
    value[i] = static_cast<std::byte>(i * i % 251);
  }

  // Narrow: RS(4,1). Any one server may die from here on.
  ers::PutOptions put;
  put.scheme = ers::Scheme{ers::SchemeKind::kErs2, 4, 1, 5};
  const auto stored = client.Put(kKey, value, put);
  if (!stored) return Fail("put", stored.error());
  if (Check(client, value) != 0) return 1;

  // Wide: RS(5,1), which needs less parity. The data blocks stay where they
  // are.
  ers::TransitionTarget wide;
  wide.width = ers::Width::kWide;
  const auto moved =
      client.Transition(kKey, wide, ers::TransitionVariant::kOptimal);
  if (!moved) return Fail("transition", moved.error());
  std::printf(
      "transition read %llu blocks and wrote %llu\n",
      static_cast<unsigned long long>(moved->data_reads) + moved->parity_reads,
      static_cast<unsigned long long>(moved->writes));
  if (Check(client, value) != 0) return 1;

  const ers::Status removed = client.Delete(kKey);
  if (!removed.ok()) return Fail("delete", removed);
  return 0;
}
