// Which objects a command is for that takes many.
#ifndef ERS_CTL_SUPPORT_SELECTION_H_
#define ERS_CTL_SUPPORT_SELECTION_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "ers/client.h"
#include "shared/key_pattern.h"

namespace ers::ctl {

// By their keys: all that fit what is given.
struct Selection {
  std::vector<std::string> keys;
  std::string prefix;
  std::string pattern;
  bool all = false;

  // Are the objects found by a list of all?
  [[nodiscard]] bool Walks() const {
    return all || !prefix.empty() || !pattern.empty();
  }
};

// Adds its arguments to a command.
void AddSelection(CLI::App& command, Selection& selection);

// kInvalidArgument: neither keys nor a choice of all, both, or a pattern that
// is none. To be called before anything is changed.
Result<proxy::KeyPattern> CheckSelection(const Selection& selection);

// The keys: those named, or those found, with a line of progress.
Result<std::vector<std::string>> SelectKeys(Client& client,
                                            const Selection& selection,
                                            const proxy::KeyPattern& pattern);

}  // namespace ers::ctl

#endif  // ERS_CTL_SUPPORT_SELECTION_H_
