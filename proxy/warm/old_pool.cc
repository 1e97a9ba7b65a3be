#include "warm/old_pool.h"

#include "net/endpoint.h"
#include "net/placement.h"
#include "net/request_encoder.h"

namespace ers::proxy {
namespace {

net::Task<Result<OldReply>> NoSuchKey() {
  return net::Task<Result<OldReply>>::Ready(
      Fail(StatusCode::kInvalidArgument, "no key of the text protocol"));
}

std::vector<net::Endpoint> ServersOf(const WarmFrom& settings) {
  return net::ParseEndpoints(settings.servers).value();
}

}  // namespace

OldPool::OldPool(net::Runtime& runtime, const WarmFrom& settings,
                 std::uint64_t max_value, const LogSink& log)
    : ring_(ServersOf(settings),
            net::ParsePlacement(settings.distribution, settings.hash,
                                settings.hash_tag)
                .value()) {
  for (const net::Endpoint& server : ServersOf(settings)) {
    links_.push_back(std::make_unique<OldLink>(
        runtime, server, OldLinkTerms{settings.timeout, max_value, log}));
  }
}

net::Task<Result<OldReply>> OldPool::Get(std::string_view key) {
  return net::IsValidKey(key) ? LinkOf(key).Get(key) : NoSuchKey();
}

net::Task<Result<OldReply>> OldPool::Find(std::string_view key) {
  return net::IsValidKey(key) ? LinkOf(key).Find(key) : NoSuchKey();
}

net::Task<Result<OldReply>> OldPool::Delete(std::string_view key) {
  return net::IsValidKey(key) ? LinkOf(key).Delete(key) : NoSuchKey();
}

}  // namespace ers::proxy
