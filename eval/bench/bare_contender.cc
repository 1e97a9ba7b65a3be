// The floor: the items of a coded value, by bare sockets.
#include <fmt/format.h>

#include <algorithm>

#include "bench/bare_sockets.h"
#include "bench/contenders.h"
#include "layout/geometry.h"

namespace ers::bench {
namespace {

using layout::BlockId;

// About as many bytes as a manifest has.
constexpr std::size_t kManifestBytes = 100;

// The value is one group, as the library's is up to 8 MiB.
class BareContender final : public Contender {
 public:
  BareContender(std::string name, const Field& field, Unit unit,
                std::unique_ptr<BareSockets> sockets)
      : name_(std::move(name)),
        geometry_(field.scheme, unit),
        replicas_(static_cast<std::size_t>(field.max_failures) + 1),
        sockets_(std::move(sockets)),
        manifest_(kManifestBytes) {}

  std::string name() const override { return name_; }
  std::string scheme() const override {
    return FormatScheme(geometry_.scheme());
  }
  bool Measures(Case c) const override {
    return c == Case::kPut || c == Case::kGet;
  }

  Status Put(const Key& key, std::span<const std::byte> value) override {
    value_bytes_ = value.size();
    const auto cells =
        static_cast<std::size_t>(geometry_.cells().data_blocks());
    cell_bytes_ = std::max<std::size_t>((value_bytes_ + cells - 1) / cells, 1);
    padding_.assign(cell_bytes_, std::byte{});
    return sockets_->Set(Stored(key, value));
  }

  Result<std::span<const std::byte>> Get(const Key& key) override {
    value_ = std::make_unique_for_overwrite<std::byte[]>(value_bytes_);
    const std::span<const std::byte> value(value_.get(), value_bytes_);
    std::vector<BareItem> items = {Manifest(key, 0)};
    for (int id = 0; id < geometry_.data_blocks(); ++id) {
      items.push_back(Block(key, static_cast<BlockId>(id), value));
    }
    Status got = sockets_->Get(items);
    if (!got.ok()) return Fail(std::move(got));
    return value;
  }

  // memcached replaces values whole.
  Status Update(const Key& key, std::span<const std::byte> value,
                Range /*range*/) override {
    return Put(key, value);
  }

  Status Transition(const Key& /*key*/, Width /*to*/) override {
    return {StatusCode::kInvalidArgument, "bare items have no width"};
  }

  void Release() override { value_.reset(); }

  Status Remove(const Key& key) override {
    const std::vector<std::byte> value(value_bytes_);
    return sockets_->Delete(Stored(key, value));
  }

 private:
  std::vector<BareItem> Stored(const Key& key,
                               std::span<const std::byte> value) {
    std::vector<BareItem> items;
    for (std::size_t i = 0; i < replicas_; ++i) {
      items.push_back(Manifest(key, i));
    }
    for (const BlockId id : geometry_.StoredBlocks(Width::kNarrow)) {
      items.push_back(Block(key, id, value));
    }
    return items;
  }

  BareItem Manifest(const Key& key, std::size_t replica) {
    return {(key.number + replica) % sockets_->server_count(),
            key.text,
            {{manifest_.data(), manifest_.size()}}};
  }

  BareItem Block(const Key& key, BlockId id, std::span<const std::byte> value) {
    BareItem item{
        (key.number + static_cast<std::size_t>(geometry_.NodeOf(id))) %
            sockets_->server_count(),
        fmt::format("{}#{}", key.text, id),
        {}};
    for (const BlockId cell : geometry_.CellsOf(id)) {
      AddCell(cell, value, item.pieces);
    }
    return item;
  }

  // Parity is as long as data, of whatever bytes: none is computed.
  void AddCell(BlockId cell, std::span<const std::byte> value,
               std::vector<iovec>& pieces) {
    const bool data = geometry_.cells().IsData(cell);
    const std::size_t at = data ? cell * cell_bytes_ : value.size();
    const std::size_t own =
        std::min(cell_bytes_, value.size() - std::min(at, value.size()));
    if (own > 0) {
      pieces.push_back({const_cast<std::byte*>(value.data() + at), own});
    }
    if (own < cell_bytes_) {
      pieces.push_back({padding_.data(), cell_bytes_ - own});
    }
  }

  std::string name_;
  layout::Geometry geometry_;
  std::size_t replicas_;
  std::unique_ptr<BareSockets> sockets_;
  std::vector<std::byte> manifest_;
  std::size_t value_bytes_ = 0;  // the same for every key
  std::size_t cell_bytes_ = 0;
  std::vector<std::byte> padding_;
  std::unique_ptr<std::byte[]> value_;
};

}  // namespace

Result<std::unique_ptr<Contender>> MakeBareContender(std::string name,
                                                     const Field& field,
                                                     Unit unit) {
  auto sockets = BareSockets::Open(field.servers);
  if (!sockets.has_value()) return Fail(sockets.error());
  return std::make_unique<BareContender>(std::move(name), field, unit,
                                         std::move(*sockets));
}

}  // namespace ers::bench
