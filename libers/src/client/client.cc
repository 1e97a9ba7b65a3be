#include "ers/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "net/event_loop.h"
#include "net/resolver.h"
#include "net/tunnel_stream.h"
#include "store/membership/accept_loss.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"
#include "store/upkeep/garbage.h"
#include "store/upkeep/rebuild.h"
#include "store/upkeep/replace.h"
#include "store/upkeep/verify.h"

namespace ers {
namespace {

class ClusterImpl final : public Cluster {
 public:
  explicit ClusterImpl(std::shared_ptr<store::ClusterState> state)
      : state_(std::move(state)) {}

  const ClusterOptions& options() const override { return state_->options; }
  const std::shared_ptr<store::ClusterState>& state() const { return state_; }

 private:
  std::shared_ptr<store::ClusterState> state_;
};

// Nothing: none is named.
Result<std::optional<net::HttpProxy>> ProxyOf(const ClusterOptions& options) {
  const std::string& token = options.through_token;
  const bool is_word = std::all_of(token.begin(), token.end(),
                                   [](char c) { return c > ' ' && c <= '~'; });
  if (!is_word) {
    return Fail(StatusCode::kInvalidArgument,
                "through_token: a token is one word of printable characters");
  }
  if (options.through.empty()) return std::nullopt;
  Result<net::Endpoint> at = net::ParseEndpoint(options.through);
  if (!at) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("through: {}", at.error().message()));
  }
  return net::HttpProxy{std::move(*at), token};
}

// Its proxy was checked.
std::unique_ptr<net::Runtime> NewLoop(const ClusterOptions& options) {
  std::optional<net::HttpProxy> proxy = *ProxyOf(options);
  return proxy ? net::NewEventLoop(std::move(*proxy)) : net::NewEventLoop();
}

// Each call runs the client's own loop until its task has ended, and what it
// began that other clients of the cluster wait for: the loop does not run
// afterwards.
class ClientImpl final : public Client {
 public:
  ClientImpl(std::shared_ptr<store::ClusterState> cluster,
             const ClientOptions& options)
      : loop_(NewLoop(cluster->options)),
        session_(*loop_, std::move(cluster), options.cached_manifests),
        store_(session_, options) {}

  Result<ObjectInfo> Put(std::string_view key, std::span<const std::byte> value,
                         const PutOptions& options) override {
    return Wait(store_.Put(key, value, options));
  }
  Result<ObjectInfo> PutFrom(std::string_view key, const Source& source,
                             const PutOptions& options) override {
    return Wait(store_.PutFrom(key, source, options));
  }
  Result<GetInfo> Get(std::string_view key, Value& value) override {
    return Wait(store_.Get(key, value));
  }
  Result<GetInfo> GetRange(std::string_view key, std::uint64_t offset,
                           std::uint64_t length, Value& value) override {
    return Wait(store_.GetRange(key, offset, length, value));
  }
  Result<GetInfo> GetTo(std::string_view key,
                        const std::function<void(const GetInfo&)>& begin,
                        const Sink& sink) override {
    return Wait(store_.GetTo(key, begin, sink));
  }
  Result<ObjectInfo> Update(std::string_view key, std::uint64_t offset,
                            std::span<const std::byte> bytes) override {
    return Wait(store_.Update(key, offset, bytes));
  }
  Result<ObjectInfo> Append(std::string_view key,
                            const Source& source) override {
    return Wait(store_.Append(key, source));
  }
  Status Delete(std::string_view key) override {
    return Wait(store_.Delete(key));
  }
  Result<ObjectInfo> Export(std::string_view key, ExportMode mode) override {
    return Wait(store_.Export(key, mode));
  }
  Result<TransitionInfo> Transition(std::string_view key,
                                    const TransitionTarget& target,
                                    TransitionVariant variant) override {
    return Wait(store_.Transition(key, target, variant));
  }
  Result<ObjectDetail> Stat(std::string_view key) override {
    return Wait(store_.Stat(key));
  }
  Result<GarbageReport> CollectGarbage(const GarbageOptions& options) override {
    store::GarbageTerms terms;
    terms.options = options;
    return Wait(store::CollectGarbage(session_, terms));
  }
  Status List(
      const std::function<bool(std::string_view, const ObjectInfo&)>& visit,
      const ListOptions& options) override {
    return Wait(store_.List(visit, options));
  }
  Result<ClusterInfo> Servers() override { return Wait(store_.Servers()); }
  Result<RebuildReport> Rebuild(const RebuildOptions& options) override {
    return Wait(store::Rebuild(session_, options));
  }
  Status Replace(const std::string& old_server,
                 const std::string& new_server) override {
    return Wait(store::ReplaceServer(session_, old_server, new_server));
  }
  Status Recover(const std::vector<Successor>& successors,
                 const std::function<bool(const Loss&)>& agree) override {
    return Wait(store::AcceptLoss(session_, successors, agree));
  }
  Result<VerifyReport> Verify(const VerifyOptions& options) override {
    store::Verifier verifier(session_, options);
    return Wait(verifier.Run());
  }

 private:
  template <typename T>
  T Wait(net::Task<T> task) {
    T outcome = SyncWait(*loop_, std::move(task));
    if (session_.holds()) SyncWait(*loop_, session_.AwaitHeld());
    return outcome;
  }

  std::unique_ptr<net::Runtime> loop_;
  store::Session session_;
  store::Store store_;
};

// Of a plain decimal number.
std::optional<int> CountOf(std::string_view text) {
  int count = 0;
  const char* end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, count);
  const bool plain =
      next == end && error == std::errc() && std::to_string(count) == text;
  return plain ? std::optional(count) : std::nullopt;
}

}  // namespace

std::string_view Version() { return ERS_VERSION; }

Result<std::shared_ptr<Cluster>> Cluster::Open(ClusterOptions options) {
  const Result<std::optional<net::HttpProxy>> proxy = ProxyOf(options);
  if (!proxy) return Fail(proxy.error());
  Result<std::shared_ptr<store::ClusterState>> state =
      store::OpenClusterState(std::move(options));
  if (!state) return Fail(state.error());
  net::Resolver::OfProcess().Prepare(
      *proxy ? std::vector<net::Endpoint>{(*proxy)->at} : (*state)->endpoints,
      net::Resolver::kAtStart);
  return std::make_shared<ClusterImpl>(std::move(*state));
}

Result<std::unique_ptr<Client>> Client::Open(std::shared_ptr<Cluster> cluster,
                                             ClientOptions options) {
  const auto* impl = dynamic_cast<const ClusterImpl*>(cluster.get());
  if (impl == nullptr) {
    return Fail(StatusCode::kInvalidArgument,
                "the cluster was not made by Cluster::Open");
  }
  Status status = ValidateStoredScheme(options.scheme);
  if (!status.ok()) return Fail(std::move(status));
  if (options.inline_below > kMaxInlineBelow &&
      options.inline_below != kInlineAuto) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("inline_below is {}: at most {}, or kInlineAuto",
                            options.inline_below, kMaxInlineBelow));
  }
  if (options.column_below > kMaxColumnBelow) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("column_below is {}: at most {}",
                            options.column_below, kMaxColumnBelow));
  }
  return std::make_unique<ClientImpl>(impl->state(), options);
}

Result<TransitionTarget> ParseTransitionTarget(std::string_view text) {
  TransitionTarget target;
  const std::size_t comma = text.find(',');
  const std::string_view width = text.substr(0, comma);
  if (width == "narrow") target.width = Width::kNarrow;
  if (width == "wide") target.width = Width::kWide;
  target.data_blocks = CountOf(width);
  const bool names_width = target.width || target.data_blocks;
  if (comma != std::string_view::npos && (names_width || width == "same")) {
    target.parity_blocks = CountOf(text.substr(comma + 1));
    if (target.parity_blocks > 0) return target;
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("'{}': behind the comma there must be the number "
                            "of parity blocks of a stripe, 1 or more",
                            text));
  }
  if (names_width) return target;
  Result<Scheme> scheme = ParseScheme(text);
  if (!scheme) {
    return Fail(
        StatusCode::kInvalidArgument,
        fmt::format(
            "neither narrow nor wide nor a number of data blocks, nor one of "
            "these or same with the parity blocks behind a comma, and {}",
            scheme.error().message()));
  }
  target.scheme = *scheme;
  return target;
}

}  // namespace ers
