// Which objects a command takes.
#ifndef ERS_CTL_SUPPORT_SELECTION_H_
#define ERS_CTL_SUPPORT_SELECTION_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "ers/client.h"

namespace ers::ctl {

// Of all objects those whose keys fit both.
struct KeySelection {
  std::string prefix;   // empty: any
  std::string pattern;  // RE2, of the whole key; empty: any

  [[nodiscard]] bool Chooses() const {
    return !prefix.empty() || !pattern.empty();
  }
};

// Those that are named, or those of all that fit; with `all` every one.
struct Selection : KeySelection {
  std::vector<std::string> keys;
  bool all = false;

  // Are the objects found by a list of all?
  [[nodiscard]] bool Walks() const { return all || Chooses(); }
};

// Add their arguments to a command. `selection` outlives the parsing.
void AddKeySelection(CLI::App& command, KeySelection& selection);
void AddSelection(CLI::App& command, Selection& selection);

// kInvalidArgument where the pattern is none; of a Selection also where it has
// neither keys nor a choice of all, or both. To be called before anything is
// changed.
Status CheckKeySelection(const KeySelection& selection);
Status CheckSelection(const Selection& selection);

// Are packs that have values of listed objects taken, too, where their own keys
// fit?
enum class Packs { kLeftOut, kTaken };
// The keys, with a progress line where they are searched for.
Result<std::vector<std::string>> ListKeys(Client& client,
                                          const KeySelection& selection,
                                          Packs packs = Packs::kLeftOut);
Result<std::vector<std::string>> SelectKeys(Client& client,
                                            const Selection& selection,
                                            Packs packs = Packs::kLeftOut);

}  // namespace ers::ctl

#endif  // ERS_CTL_SUPPORT_SELECTION_H_
