#include <fmt/format.h>

#include <optional>

#include "bench/contenders.h"
#include "ers/client.h"

namespace ers::bench {
namespace {

// Every value is coded, whatever its size: that is what is compared.
constexpr std::size_t kNothingInline = 0;

Result<std::unique_ptr<Client>> OpenClient(const Field& field,
                                           const Scheme& scheme,
                                           Unit unit = Unit::kBlocks) {
  ClusterOptions cluster_options;
  cluster_options.servers = field.servers;
  cluster_options.max_failures = field.max_failures;
  auto cluster = Cluster::Open(std::move(cluster_options));
  if (!cluster.has_value()) return Fail(cluster.error());
  ClientOptions client_options;
  client_options.scheme = scheme;
  client_options.inline_below = kNothingInline;
  client_options.column_below = unit == Unit::kColumns ? kMaxColumnBelow : 0;
  return Client::Open(*cluster, client_options);
}

class LibraryContender : public Contender {
 public:
  LibraryContender(std::string name, const Scheme& scheme, GetMemory memory,
                   std::unique_ptr<Client> client)
      : name_(std::move(name)),
        scheme_(scheme),
        memory_(memory),
        client_(std::move(client)) {}

  std::string name() const override { return name_; }
  std::string scheme() const override { return FormatScheme(scheme_); }

  bool Measures(Case c) const override {
    if (memory_ == GetMemory::kReused) return c == Case::kGet;
    const bool transition = c == Case::kForward || c == Case::kBackward;
    return !transition || scheme_.elastic();
  }

  Status Put(const Key& key, std::span<const std::byte> value) override {
    const auto done = client_->Put(key.text, value, {});
    return done.has_value() ? Status() : done.error();
  }

  Result<std::span<const std::byte>> Get(const Key& key) override {
    if (memory_ == GetMemory::kFresh) value_.emplace();
    const auto done = client_->Get(key.text, *value_);
    if (!done.has_value()) return Fail(done.error());
    if (done->degraded) {
      return Fail(StatusCode::kUnavailable,
                  fmt::format("{}: a server is missing, which is not what is "
                              "measured here",
                              name_));
    }
    return value_->bytes();
  }

  Status Update(const Key& key, std::span<const std::byte> value,
                Range range) override {
    const auto done = client_->Update(
        key.text, range.offset, value.subspan(range.offset, range.length));
    return done.has_value() ? Status() : done.error();
  }

  Status Transition(const Key& key, Width to) override {
    return Move(key, {.width = to, .scheme = {}}, TransitionPath::kPlan);
  }

  void Release() override {
    if (memory_ == GetMemory::kFresh) value_.emplace();
  }

  Status Remove(const Key& key) override {
    Status status = client_->Delete(key.text);
    return status.code() == StatusCode::kNotFound ? Status() : status;
  }

 protected:
  // A transition by another path is not what is measured: an error.
  Status Move(const Key& key, const TransitionTarget& target,
              TransitionPath path) {
    const auto done =
        client_->Transition(key.text, target, TransitionVariant::kOptimal);
    if (!done.has_value()) return done.error();
    if (done->path == path) return {};
    return {StatusCode::kIncompatible,
            fmt::format("{}: the transition took another path", name_)};
  }

 private:
  std::string name_;
  Scheme scheme_;
  GetMemory memory_;
  std::unique_ptr<Client> client_;
  std::optional<Value> value_ = Value();
};

// From one scheme to another and back, by the path that is measured.
class SchemeContender final : public LibraryContender {
 public:
  SchemeContender(std::string name, const Scheme& from, const Scheme& to,
                  TransitionPath path, std::unique_ptr<Client> client)
      : LibraryContender(std::move(name), from, GetMemory::kFresh,
                         std::move(client)),
        from_(from),
        to_(to),
        path_(path) {}

  bool Measures(Case c) const override {
    return c == Case::kForward || c == Case::kBackward;
  }

  Status Transition(const Key& key, Width to) override {
    return Move(key, {.width = {}, .scheme = to == Width::kWide ? to_ : from_},
                path_);
  }

 private:
  Scheme from_;
  Scheme to_;
  TransitionPath path_;
};

Result<std::unique_ptr<Contender>> MakeSchemeContender(std::string name,
                                                       const Field& field,
                                                       const Scheme& from,
                                                       const Scheme& to,
                                                       TransitionPath path) {
  auto client = OpenClient(field, from);
  if (!client.has_value()) return Fail(client.error());
  return std::make_unique<SchemeContender>(std::move(name), from, to, path,
                                           std::move(*client));
}

}  // namespace

Result<std::unique_ptr<Contender>> MakeLibraryContender(std::string name,
                                                        const Field& field,
                                                        const Scheme& scheme,
                                                        GetMemory memory,
                                                        Unit unit) {
  auto client = OpenClient(field, scheme, unit);
  if (!client.has_value()) return Fail(client.error());
  return std::make_unique<LibraryContender>(std::move(name), scheme, memory,
                                            std::move(*client));
}

Result<std::unique_ptr<Contender>> MakeReencodeContender(const Field& field) {
  const Scheme& s = field.scheme;
  return MakeSchemeContender(
      "reencode", field, {SchemeKind::kRs, s.k, s.m, s.k},
      {SchemeKind::kRs, s.kp, s.m, s.kp}, TransitionPath::kReencode);
}

Result<std::vector<std::unique_ptr<Contender>>> MakeParityContenders(
    const Field& field, int to) {
  const Scheme& from = field.scheme;
  Scheme more = from;
  more.m = to;
  // The other placement of the same blocks: as many are written anew.
  Scheme other = from;
  other.kind =
      from.kind == SchemeKind::kErs1 ? SchemeKind::kErs2 : SchemeKind::kErs1;
  std::vector<std::unique_ptr<Contender>> contenders;
  auto libers =
      MakeSchemeContender("libers", field, from, more, TransitionPath::kParity);
  if (!libers.has_value()) return Fail(libers.error());
  contenders.push_back(std::move(*libers));
  auto reencode = MakeSchemeContender("reencode", field, other, more,
                                      TransitionPath::kReencode);
  if (!reencode.has_value()) return Fail(reencode.error());
  contenders.push_back(std::move(*reencode));
  return contenders;
}

}  // namespace ers::bench
