// Scheme: how an object's bytes are made redundant.
#ifndef ERS_SCHEME_H_
#define ERS_SCHEME_H_

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ers/export.h"
#include "ers/status.h"

namespace ers {

// The families of shared words: replication, Reed-Solomon, stretched
// Reed-Solomon (Ring, EuroSys 2018), the two elastic ones of the ERS paper
// (row-major and ERS-aware placement), and chains of widths. The numbers are
// stored; never reuse one.
enum class SchemeKind : std::uint8_t {
  kRep = 1,
  kRs = 2,
  kSrs = 3,
  kErs1 = 4,
  kErs2 = 5,
  kChain = 6,
};

// Which of its codes an elastic object is stored under: the narrowest,
// RS(k,m), the widest, RS(k',m), or one between them, which only chains have.
// kRep and kRs objects are always kNarrow. Stored; never renumber. The numbers
// do not ascend with the data blocks of a stripe: WidthsOf does.
enum class Width : std::uint8_t {
  kNarrow = 0,
  kWide = 1,
  kSecond = 2,  // of three or four
  kThird = 3,   // of four
};

// What one item on a server holds of a group. Columns are of elastic objects
// alone: for others they would be the same. Stored; never renumber.
enum class Unit : std::uint8_t {
  kBlocks = 0,
  // All data blocks that one node has, or all blocks of one parity index.
  kColumns = 1,
};

// By which rule a transition's plan reads blocks.
enum class TransitionVariant : std::uint8_t {
  kOptimal,  // the least reads that any code with data in place can do
  kPaper,    // the rule of the ERS paper, sections 3 and 4
  kNoOrder,  // to narrower only: the paper's Experiment 5, no order selection
};

// A validated-on-demand value type; compares by value; any thread.
struct Scheme {
  SchemeKind kind = SchemeKind::kRs;
  int k = 4;   // data blocks of a narrow stripe; 1 for kRep
  int m = 1;   // parity blocks of a stripe; further copies for kRep
  int kp = 4;  // k': data blocks of a wide stripe; == k where not elastic
  // Of a chain: data blocks of a stripe of its second and third width, where
  // these are not the last. Else 0.
  std::array<std::uint8_t, 2> middle{};

  [[nodiscard]] bool elastic() const {
    return kind == SchemeKind::kSrs || kind == SchemeKind::kErs1 ||
           kind == SchemeKind::kErs2 || kind == SchemeKind::kChain;
  }
  auto operator<=>(const Scheme&) const = default;
};

// The scheme's widths, ascending by the data blocks of a stripe: one where it
// is not elastic, else two, of a chain up to four.
ERS_API std::vector<Width> WidthsOf(const Scheme& scheme);
ERS_API bool HasWidth(const Scheme& scheme, Width width);
// Data blocks of a stripe: k, k' or one between. `width` must be one of the
// scheme's; of one that is not elastic each is k.
ERS_API int StripeDataBlocks(const Scheme& scheme, Width width);

// lcm of all widths: the data blocks of a group (section 2.2 of the ERS paper).
// At most the largest int.
ERS_API int GroupDataBlocks(const Scheme& scheme);
// Nodes an object needs: k' + m (COPIES for kRep).
ERS_API int NodeCount(const Scheme& scheme);

// Most nodes of a scheme: k' + m.
inline constexpr int kMaxSchemeNodes = 255;
// Largest group that is stored; the grids themselves know no such limit.
inline constexpr int kMaxStoredGroupBlocks = 1024;

// OK, or kInvalidArgument with a sentence that says which rule is broken and
// what is allowed: k >= 2, m >= 1, k < k', k' + m <= 255; COPIES >= 2 for rep;
// of a chain 2 to 4 widths that ascend, and l <= kMaxStoredGroupBlocks.
ERS_API Status ValidateScheme(const Scheme& scheme);
// The same, and l <= kMaxStoredGroupBlocks.
ERS_API Status ValidateStoredScheme(const Scheme& scheme);

// Parses `rep:COPIES`, `rs:K,M`, `srs:K,M,KP`, `ers1:K,M,KP`, `ers2:K,M,KP`,
// and `ers:K1-K2-..,M`, exactly as FormatScheme prints them, and validates by
// ValidateScheme. kInvalidArgument otherwise, quoting `text` and the accepted
// forms.
ERS_API Result<Scheme> ParseScheme(std::string_view text);
ERS_API std::string FormatScheme(const Scheme& scheme);

// "narrow" or "wide"; of a chain the data blocks of a stripe, as "6".
ERS_API std::string WidthName(const Scheme& scheme, Width width);
// "narrow", which is the first, "wide", which is the last, or the data blocks
// of a stripe. nullopt: the scheme has no such width.
ERS_API std::optional<Width> WidthNamed(const Scheme& scheme,
                                        std::string_view name);
ERS_API std::string_view UnitName(Unit unit);  // "blocks" or "columns"

}  // namespace ers

#endif  // ERS_SCHEME_H_
