// Which scheme suits an object, by times that were fitted to measurements and
// by what schemes store and move. No cluster is asked.
#ifndef ERS_CTL_COMMANDS_ADVICE_H_
#define ERS_CTL_COMMANDS_ADVICE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ers/scheme.h"
#include "ers/status.h"

namespace ers::ctl {

struct Question {
  std::uint64_t object_bytes = 0;
  double mbit = 0;  // of the client's link
  double reads_per_write = 1;
  int failures = 1;      // that objects are to survive; at least 1
  int most_servers = 0;  // that there are; 0: as many as a scheme asks for
  int widths = 2;        // that an object may be at; more: a chain
};

// seconds = fixed + link * bytes / rate + byte * bytes + server * servers +
// block * blocks, of what one operation moves and touches.
struct Times {
  double fixed = 0;
  double link = 0;
  double byte = 0;
  double server = 0;
  double block = 0;
  double error = 0;  // median, relative to what was measured
};

// What the evaluation found, as its file says.
struct AdviceModel {
  std::map<std::pair<bool, bool>, Times> times;  // {coded, of a read}
  std::vector<std::pair<int, int>> widths;       // k and k' that are tried
  double min_mbit = 0;                           // measured, as the next three
  double max_mbit = 0;
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = 0;
  double min_storage_share = 0;  // of a system's cost, by the cost model
  double max_storage_share = 0;
  std::string source;  // where the figures come from
};

// kInvalidArgument names the file and what is wrong with it.
Result<AdviceModel> ReadAdviceModel(const std::string& path);
// The installed one, found beside this program; kNotFound if it is missing.
Result<std::string> FindAdviceModel();

// A change of width, in bytes for a byte of the object.
struct Step {
  int from = 0;  // data blocks of a stripe
  int to = 0;
  double stored_before = 0;
  double stored_after = 0;
  double read = 0;
  double written = 0;
};

struct Candidate {
  Scheme scheme;
  double put_seconds = 0;
  double get_seconds = 0;
  double mean_seconds = 0;  // of puts and gets as often as they come
  double stored = 0;        // bytes for a byte of the object
  double moved = 0;         // bytes for a byte written, and what is read of it
  int servers = 0;          // that must be there
  std::uint64_t worth_coding = 0;  // shorter values are kept whole (bytes)
  std::vector<Step> steps;         // from each of its widths to each other
};

// What came of the wish for a chain.
enum class Chains {
  kNotAsked,
  kTooFewServers,  // or there may be, for any
  kSlow,           // copies are faster than any: all others were weighed
  kTaken,          // copies and chains alone were weighed
};

struct Advice {
  std::vector<Candidate> candidates;  // copies first, chains last
  std::size_t chosen = 0;             // of candidates
  std::size_t fastest = 0;            // of those that were weighed
  // The object is shorter than this, in bytes, and kept whole though coding
  // was chosen; else 0.
  std::uint64_t whole_below = 0;
  Chains chains = Chains::kNotAsked;
  bool beyond = false;  // what was asked is outside of what was measured
};

// Candidates within this of the fastest count as equally fast; of these, the
// one that stores least is chosen, narrow, and then at its last width. Of coded
// ones chains alone where they were asked for, unless copies win over these.
inline constexpr double kEquallyFast = 1.1;

// kInvalidArgument if there are fewer servers than copies.
Result<Advice> Advise(const AdviceModel& model, const Question& question);

}  // namespace ers::ctl

#endif  // ERS_CTL_COMMANDS_ADVICE_H_
