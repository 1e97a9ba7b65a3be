#include "bench/tapped_contender.h"

#include <fmt/format.h>

#include <optional>

#include "net/event_loop.h"
#include "net/task.h"
#include "store/membership/cluster_state.h"
#include "store/membership/session.h"
#include "store/objects/store.h"

namespace ers::bench {
namespace {

ClientOptions OptionsOf(const Way& way, std::size_t inline_below) {
  ClientOptions options;
  options.column_below = 0;  // in blocks, as in the paper
  options.scheme = way.narrow;
  options.inline_below = inline_below;
  return options;
}

class TappedContender final : public Contender {
 public:
  TappedContender(std::string name,
                  std::shared_ptr<store::ClusterState> cluster, const Way& way,
                  std::size_t inline_below, Traffic& traffic)
      : name_(std::move(name)),
        way_(way),
        options_(OptionsOf(way, inline_below)),
        loop_(net::NewEventLoop()),
        tapped_(*loop_, traffic),
        session_(tapped_, std::move(cluster), options_.cached_manifests),
        store_(session_, options_) {}

  // To every server: no operation is to wait for that.
  Status Connect() {
    const auto servers = net::SyncWait(tapped_, store_.Servers());
    return servers.has_value() ? Status() : servers.error();
  }

  std::string name() const override { return name_; }
  std::string scheme() const override { return FormatScheme(way_.narrow); }
  bool Measures(Case c) const override {
    const bool transition = c == Case::kForward || c == Case::kBackward;
    if (!transition) return c != Case::kUpdate;
    return way_.narrow.elastic() || way_.narrow != way_.wide;
  }

  Status Put(const Key& key, std::span<const std::byte> value) override {
    const auto done =
        net::SyncWait(tapped_, store_.Put(key.text, value, PutOptions{}));
    if (!done.has_value()) return done.error();
    if (way_.from == Width::kNarrow) return {};
    const auto moved = net::SyncWait(
        tapped_, store_.Transition(key.text, {.width = way_.from, .scheme = {}},
                                   way_.forward));
    return moved.has_value() ? Status() : moved.error();
  }

  Result<std::span<const std::byte>> Get(const Key& key) override {
    value_.emplace();
    const auto done = net::SyncWait(tapped_, store_.Get(key.text, *value_));
    if (!done.has_value()) return Fail(done.error());
    if (done->degraded) {
      return Fail(StatusCode::kUnavailable,
                  fmt::format("{}: a server is missing, which is not what is "
                              "measured here",
                              name_));
    }
    return value_->bytes();
  }

  Status Update(const Key& /*key*/, std::span<const std::byte> /*value*/,
                Range /*range*/) override {
    return {StatusCode::kInvalidArgument, "updates are not measured here"};
  }

  Status Transition(const Key& key, Width to) override {
    const bool forward = to == Width::kWide;
    const bool anew = way_.narrow != way_.wide;
    TransitionTarget target;
    if (anew) {
      target.scheme = forward ? way_.wide : way_.narrow;
    } else {
      target.width = forward ? way_.to : way_.from;
    }
    const auto done = net::SyncWait(
        tapped_, store_.Transition(key.text, target,
                                   forward ? way_.forward : way_.backward));
    if (!done.has_value()) return done.error();
    const auto path = anew ? TransitionPath::kReencode : TransitionPath::kPlan;
    if (done->path == path) return {};
    return {StatusCode::kIncompatible,
            fmt::format("{}: the transition took another path", name_)};
  }

  void Release() override { value_.emplace(); }

  Status Remove(const Key& key) override {
    Status status = net::SyncWait(tapped_, store_.Delete(key.text));
    return status.code() == StatusCode::kNotFound ? Status() : status;
  }

 private:
  std::string name_;
  Way way_;
  ClientOptions options_;
  std::unique_ptr<net::Runtime> loop_;
  TappedRuntime tapped_;
  store::Session session_;
  store::Store store_;
  std::optional<Value> value_ = Value();
};

}  // namespace

Result<std::unique_ptr<Contender>> MakeTappedContender(
    std::string name, const ClusterOptions& cluster_options, const Way& way,
    std::size_t inline_below, Traffic& traffic) {
  // Of its own: what is under way for all clients of one waits while the loop
  // of the client that began it does not run.
  auto cluster = store::OpenClusterState(cluster_options);
  if (!cluster.has_value()) return Fail(cluster.error());
  auto made = std::make_unique<TappedContender>(
      std::move(name), std::move(*cluster), way, inline_below, traffic);
  Status connected = made->Connect();
  if (!connected.ok()) return Fail(std::move(connected));
  return made;
}

}  // namespace ers::bench
