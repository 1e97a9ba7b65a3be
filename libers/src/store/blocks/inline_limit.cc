#include "ers/inline_limit.h"

#include <algorithm>
#include <cstdint>

#include "store/format/block_header.h"

namespace ers {
namespace {

// Of an item: memcached's header with the CAS, the NUL behind the key and the
// line end behind the value.
constexpr std::int64_t kItemBytes = 56 + 1 + 2;
constexpr std::int64_t kBlockKeyBytes = 53;  // BlockKey, of low numbers
// EncodeManifest, without history: beside an inline value, and of one in blocks
// but for its node list.
constexpr std::int64_t kInlineManifestBytes = 45;
constexpr std::int64_t kBlocksManifestBytes = 60;

}  // namespace

std::size_t WorthCoding(const Scheme& scheme, Width width, Unit unit,
                        int max_failures, std::size_t key_bytes) {
  const std::int64_t copies = max_failures + 1;
  const std::int64_t w = StripeDataBlocks(scheme, width);
  const bool in_columns = unit == Unit::kColumns || !scheme.elastic();
  const std::int64_t data = in_columns ? scheme.kp : GroupDataBlocks(scheme);
  const std::int64_t parity = in_columns ? scheme.m : scheme.m * (data / w);
  const std::int64_t replica =
      copies * (kItemBytes + static_cast<std::int64_t>(key_bytes));
  const std::int64_t whole = replica + copies * kInlineManifestBytes;
  const std::int64_t coded =
      replica + copies * (kBlocksManifestBytes + NodeCount(scheme)) +
      (data + parity) * (kItemBytes + kBlockKeyBytes +
                         std::int64_t{store::kBlockHeaderBytes});
  // 8 (coded + length (w + m) / w) <= 7 (whole + length copies)
  const std::int64_t saved = 7 * copies * w - 8 * (w + scheme.m);
  if (saved <= 0) return kMaxInlineAuto;
  const std::int64_t length = ((8 * coded - 7 * whole) * w + saved - 1) / saved;
  return std::min<std::size_t>(
      kMaxInlineAuto,
      static_cast<std::size_t>(std::max<std::int64_t>(0, length)));
}

}  // namespace ers
