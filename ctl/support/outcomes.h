// What became of the objects of a command that takes many.
#ifndef ERS_CTL_SUPPORT_OUTCOMES_H_
#define ERS_CTL_SUPPORT_OUTCOMES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/support/report.h"
#include "ers/client.h"
#include "ers/status.h"

namespace ers::ctl {

// Of a call that failed. An object that has lost more than its redundancy
// replaces is kNotFound like one that is gone; while it is still there, that is
// kCorruption here. It asks the cluster for that.
Status WhyFailed(Client& client, const std::string& key, const Status& status);

// A plain value. One thread at a time.
struct Outcomes {
  struct Refused {
    std::string key;
    Status status;
  };

  std::uint64_t selected = 0;
  std::uint64_t done = 0;
  std::uint64_t already = 0;
  std::uint64_t gone = 0;
  std::uint64_t too_large = 0;
  std::uint64_t failed = 0;
  std::vector<Refused> named;  // up to 100, the rest is counted
  Status worst;                // what the exit code shows

  // An object that was found by a list may be gone since: that is no error.
  // `status` is one of WhyFailed, so that none is that is lost.
  void Add(const std::string& key, const Status& status, bool named_by_user);

  [[nodiscard]] Json ErrorsJson() const;
  // A line for each that is named.
  [[nodiscard]] std::string ErrorsText() const;
  // The exit code says what the report does. `done_word`: "exported".
  [[nodiscard]] Ending End(const Status& printed,
                           std::string_view done_word) const;
};

}  // namespace ers::ctl

#endif  // ERS_CTL_SUPPORT_OUTCOMES_H_
