#include <fmt/format.h>

#include "bench/contenders.h"
#include "bench/plain_client.h"

namespace ers::bench {
namespace {

class CopiesContender final : public Contender {
 public:
  CopiesContender(std::string name, std::size_t copies,
                  std::unique_ptr<PlainClient> client)
      : name_(std::move(name)), copies_(copies), client_(std::move(client)) {}

  std::string name() const override { return name_; }
  std::string scheme() const override {
    return copies_ == 1 ? "none" : fmt::format("rep:{}", copies_);
  }
  bool Measures(Case c) const override {
    // Reading one of several copies is what `plain` shows.
    if (c == Case::kGet) return copies_ == 1;
    return c == Case::kPut || c == Case::kUpdate;
  }

  Status Put(const Key& key, std::span<const std::byte> value) override {
    for (std::size_t i = 0; i < copies_; ++i) {
      Status set = client_->Set(Server(key, i), key.text, value);
      if (!set.ok()) return set;
    }
    return {};
  }

  Result<std::span<const std::byte>> Get(const Key& key) override {
    auto fetched = client_->Get(Server(key, 0), key.text);
    if (!fetched.has_value()) return Fail(fetched.error());
    fetched_ = std::move(*fetched);
    return fetched_.bytes();
  }

  // memcached replaces values whole.
  Status Update(const Key& key, std::span<const std::byte> value,
                Range /*range*/) override {
    return Put(key, value);
  }

  Status Transition(const Key& /*key*/, Width /*to*/) override {
    return {StatusCode::kInvalidArgument, "copies have no width"};
  }

  void Release() override { fetched_ = {}; }

  Status Remove(const Key& key) override {
    for (std::size_t i = 0; i < copies_; ++i) {
      Status removed = client_->Delete(Server(key, i), key.text);
      if (!removed.ok()) return removed;
    }
    return {};
  }

 private:
  [[nodiscard]] std::size_t Server(const Key& key, std::size_t copy) const {
    return (key.number + copy) % client_->server_count();
  }

  std::string name_;
  std::size_t copies_;
  std::unique_ptr<PlainClient> client_;
  Fetched fetched_;
};

}  // namespace

Result<std::unique_ptr<Contender>> MakeCopiesContender(std::string name,
                                                       const Field& field,
                                                       int copies) {
  auto client = PlainClient::Open(field.servers);
  if (!client.has_value()) return Fail(client.error());
  return std::make_unique<CopiesContender>(
      std::move(name), static_cast<std::size_t>(copies), std::move(*client));
}

}  // namespace ers::bench
