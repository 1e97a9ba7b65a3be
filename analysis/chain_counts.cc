#include "analysis/chain_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/formulas.h"
#include "analysis/json_rows.h"
#include "ers/transition_counts.h"

namespace ers::analysis {
namespace {

struct Pair {
  int from = 0;  // data blocks of a stripe
  int to = 0;
  int group = 0;
};

Pair PairOf(const ChainRow& row) {
  return {StripeDataBlocks(row.scheme, row.from),
          StripeDataBlocks(row.scheme, row.to), GroupDataBlocks(row.scheme)};
}

// The blocks of a group are in a row, and so are those of each stripe. Of an
// old one the lesser: its data; or its parity, and its data but for the longest
// piece that lies within one new stripe.
int ReadsFromPieces(const ChainRow& row) {
  const auto& [from, to, group] = PairOf(row);
  int reads = 0;
  for (int first = 0; first < group; first += from) {
    std::vector<int> pieces(static_cast<std::size_t>(group / to));
    for (int block = first; block < first + from; ++block) {
      ++pieces[static_cast<std::size_t>(block / to)];
    }
    const int longest = *std::max_element(pieces.begin(), pieces.end());
    reads += std::min(from, from - longest + row.scheme.m);
  }
  return reads;
}

nlohmann::ordered_json JsonOf(const ChainRow& row) {
  const std::string scheme = FormatScheme(row.scheme);
  const std::size_t colon = scheme.find(':') + 1;
  return {{"chain", scheme.substr(colon, scheme.find(',') - colon)},
          {"m", row.scheme.m},
          {"from", PairOf(row).from},
          {"to", PairOf(row).to},
          {"reads", row.reads},
          {"writes", row.writes},
          {"lower_bound", row.lower_bound}};
}

}  // namespace

Status CheckChainRow(const ChainRow& row) {
  const auto& [from, to, group] = PairOf(row);
  const int reads = ReadsFromPieces(row);
  const int writes = row.scheme.m * group / to;
  if (row.reads == reads && row.writes == writes &&
      row.reads >= row.lower_bound) {
    return {};
  }
  return {StatusCode::kCorruption,
          fmt::format("{} from {} to {}: the plan reads {} and writes {} "
                      "blocks, the formulas say {} and {}, and no fewer reads "
                      "than {}: one of them is wrong, please report it",
                      FormatScheme(row.scheme), from, to, row.reads, row.writes,
                      reads, writes, row.lower_bound)};
}

Result<std::vector<ChainRow>> CountChain(std::string_view widths, int m) {
  const Result<Scheme> scheme =
      ParseScheme(fmt::format("ers:{},{}", widths, m));
  if (!scheme) return Fail(scheme.error());
  std::vector<ChainRow> rows;
  for (const Width from : WidthsOf(*scheme)) {
    for (const Width to : WidthsOf(*scheme)) {
      if (from == to) continue;
      ChainRow row{*scheme, from, to};
      const Result<TransitionCounts> counts =
          CountTransition(*scheme, from, to, Unit::kBlocks);
      if (!counts) return Fail(counts.error());
      row.reads = counts->reads;
      row.writes = counts->writes;
      row.lower_bound = LowerBound(*scheme, {{from, m}, {to, m}});
      Status checked = CheckChainRow(row);
      if (!checked.ok()) return Fail(std::move(checked));
      rows.push_back(row);
    }
  }
  return rows;
}

std::string RenderChain(const std::vector<ChainRow>& rows, Format format) {
  return RenderJsonRows(rows, JsonOf, format);
}

}  // namespace ers::analysis
