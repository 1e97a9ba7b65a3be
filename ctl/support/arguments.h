// What form option values must have, beyond what the parser knows.
#ifndef ERS_CTL_SUPPORT_ARGUMENTS_H_
#define ERS_CTL_SUPPORT_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <string>

#include "ctl/support/key_text.h"

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

// A key; as base64:... it is taken for the bytes that this stands for.
inline CLI::Validator IsKey() {
  return {[](std::string& value) { return TakeKey(value); }, ""};
}

// The parser would name the range of what it reads them into.
inline CLI::Validator IsWhole() {
  return {[](const std::string& value) {
            const bool whole =
                !value.empty() && value.size() < 20 &&
                value.find_first_not_of("0123456789") == std::string::npos;
            return whole ? std::string()
                         : std::string(
                               "it must be a whole number, of at most "
                               "19 digits");
          },
          ""};
}

// As WidthNamed takes it, whatever the scheme.
inline CLI::Validator IsWidth() {
  return {[](const std::string& value) {
            const bool number =
                !value.empty() && value.size() < 4 && value.front() != '0' &&
                value.find_first_not_of("0123456789") == std::string::npos;
            return number || value == "narrow" || value == "wide"
                       ? std::string()
                       : std::string(
                             "it must be narrow, wide or the number of data "
                             "blocks in a stripe");
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

#endif  // ERS_CTL_SUPPORT_ARGUMENTS_H_
