// What option values must look like, beyond what the parser knows.
#ifndef ERS_PROXY_CTL_ARGUMENTS_H_
#define ERS_PROXY_CTL_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
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

// A range lets "nan" through.
inline CLI::Validator IsNumber() {
  return {[](const std::string& value) {
            return std::isnan(std::strtod(value.c_str(), nullptr))
                       ? std::string("it is not a number")
                       : std::string();
          },
          ""};
}

}  // namespace ers::ctl

#endif  // ERS_PROXY_CTL_ARGUMENTS_H_
