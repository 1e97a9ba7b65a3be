#ifndef ERS_CTL_SUPPORT_ENVIRONMENT_H_
#define ERS_CTL_SUPPORT_ENVIRONMENT_H_

#include <cstdlib>
#include <string>

namespace ers::ctl {

// "" where it is not set.
inline std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Where a kind of files is kept by the XDG base directory specification:
// $VARIABLE/libers, or ~/UNDER_HOME/libers. "": neither is set.
inline std::string FolderOf(const char* variable, const char* under_home) {
  std::string base = Environment(variable);
  if (base.empty()) {
    const std::string home = Environment("HOME");
    if (home.empty()) return "";
    base = home + under_home;
  }
  return base + "/libers";
}

}  // namespace ers::ctl

#endif  // ERS_CTL_SUPPORT_ENVIRONMENT_H_
