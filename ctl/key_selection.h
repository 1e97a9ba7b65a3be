// KeySelection: which of all objects a command takes, by their keys.
#ifndef ERS_CTL_KEY_SELECTION_H_
#define ERS_CTL_KEY_SELECTION_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "ers/client.h"

namespace ers::ctl {

struct KeySelection {
  std::string prefix;   // empty: any
  std::string pattern;  // RE2, of the whole key; empty: any
};

// --prefix and --pattern. `selection` outlives the parsing.
void AddKeySelection(CLI::App& command, KeySelection& selection);

// kInvalidArgument where the pattern is none.
Status CheckKeySelection(const KeySelection& selection);

// The keys of the objects that it takes, with a progress line.
Result<std::vector<std::string>> ListKeys(Client& client,
                                          const KeySelection& selection);

}  // namespace ers::ctl

#endif  // ERS_CTL_KEY_SELECTION_H_
