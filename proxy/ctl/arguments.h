// What option values must look like, beyond what the parser knows.
#ifndef ERS_PROXY_CTL_ARGUMENTS_H_
#define ERS_PROXY_CTL_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <string>

namespace ers::ctl {

// An empty value is a script's unset variable more often than a wish for the
// default.
inline CLI::Validator NotEmpty() {
  return {[](const std::string& value) {
            return value.empty() ? std::string(
                                       "it is empty: give a value, or "
                                       "leave the option out")
                                 : std::string();
          },
          ""};
}

}  // namespace ers::ctl

#endif  // ERS_PROXY_CTL_ARGUMENTS_H_
