// One GET of the C++ interface for each line of standard input, into a buffer
// that is used again ("same") or a new one ("new"); prints the seconds that it
// took.
//
//   python-rate-get SERVERS KEY
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "ers/client.h"

namespace {

int Report(const ers::Status& status) {
  std::fprintf(stderr, "python-rate-get: %s\n", status.message().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: python-rate-get SERVERS KEY\n");
    return 2;
  }
  ers::ClusterOptions options;
  options.servers = argv[1];
  const auto cluster = ers::Cluster::Open(options);
  if (!cluster) return Report(cluster.error());
  const auto client = ers::Client::Open(*cluster, {});
  if (!client) return Report(client.error());
  ers::Value same;
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto began = std::chrono::steady_clock::now();
    ers::Value fresh;
    const auto got = (*client)->Get(argv[2], line == "new" ? fresh : same);
    fresh = ers::Value();  // its end counts, as that of new bytes does
    const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - began;
    if (!got) return Report(got.error());
    std::printf("%.6f\n", took.count());
    std::fflush(stdout);
  }
  return 0;
}
