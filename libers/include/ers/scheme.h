// Scheme: how an object's bytes are made redundant.
#ifndef ERS_SCHEME_H_
#define ERS_SCHEME_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "ers/export.h"
#include "ers/status.h"

namespace ers {

// The families of shared words: replication, Reed-Solomon, stretched
// Reed-Solomon (Ring, EuroSys 2018), and the two elastic ones of the ERS paper
// (row-major and ERS-aware placement). The numbers are stored; never reuse one.
enum class SchemeKind : std::uint8_t {
  kRep = 1,
  kRs = 2,
  kSrs = 3,
  kErs1 = 4,
  kErs2 = 5,
};

// Which of its two codes an elastic object is stored under: RS(k,m) or
// RS(k',m). kRep and kRs objects are always kNarrow. Stored; never renumber.
enum class Width : std::uint8_t { kNarrow = 0, kWide = 1 };

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
  kNoOrder,  // to narrow only: the paper's Experiment 5, no order selection
};

// A validated-on-demand value type; compares by value; any thread.
struct Scheme {
  SchemeKind kind = SchemeKind::kRs;
  int k = 4;   // data blocks of a narrow stripe; 1 for kRep
  int m = 1;   // parity blocks of a stripe; further copies for kRep
  int kp = 4;  // k': data blocks of a wide stripe; == k where not elastic

  [[nodiscard]] bool elastic() const {
    return kind == SchemeKind::kSrs || kind == SchemeKind::kErs1 ||
           kind == SchemeKind::kErs2;
  }
  auto operator<=>(const Scheme&) const = default;
};

// lcm(k, k'): the data blocks of a group (section 2.2 of the ERS paper).
ERS_API int GroupDataBlocks(const Scheme& scheme);
// Nodes an object needs: k' + m (COPIES for kRep).
ERS_API int NodeCount(const Scheme& scheme);

// Most nodes of a scheme: k' + m.
inline constexpr int kMaxSchemeNodes = 255;
// Largest group that is stored; the grids themselves know no such limit.
inline constexpr int kMaxStoredGroupBlocks = 1024;

// OK, or kInvalidArgument with a sentence that says which rule is broken and
// what is allowed: k >= 2, m >= 1, k < k', k' + m <= 255; COPIES >= 2 for rep.
ERS_API Status ValidateScheme(const Scheme& scheme);
// The same, and l <= kMaxStoredGroupBlocks.
ERS_API Status ValidateStoredScheme(const Scheme& scheme);

// Parses `rep:COPIES`, `rs:K,M`, `srs:K,M,KP`, `ers1:K,M,KP`, `ers2:K,M,KP`,
// exactly as FormatScheme prints them, and validates by ValidateScheme.
// kInvalidArgument otherwise, quoting `text` and the accepted forms.
ERS_API Result<Scheme> ParseScheme(std::string_view text);
ERS_API std::string FormatScheme(const Scheme& scheme);

ERS_API std::string_view WidthName(Width width);  // "narrow" or "wide"
ERS_API std::string_view UnitName(Unit unit);     // "blocks" or "columns"

}  // namespace ers

#endif  // ERS_SCHEME_H_
