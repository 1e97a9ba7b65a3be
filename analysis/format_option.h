// The --format option of the programs that print rows.
#ifndef ERS_ANALYSIS_FORMAT_OPTION_H_
#define ERS_ANALYSIS_FORMAT_OPTION_H_

#include <CLI/CLI.hpp>
#include <map>
#include <string>

#include "analysis/output.h"

namespace ers::analysis {

inline void AddFormatOption(CLI::App* command, Format* format) {
  const std::map<std::string, Format> formats = {{"table", Format::kTable},
                                                 {"csv", Format::kCsv},
                                                 {"json", Format::kJson}};
  command
      ->add_option_function<std::string>(
          "--format",
          [format, formats](const std::string& name) {
            *format = formats.at(name);
          },
          "table (for people, the default), csv or json")
      ->check(CLI::IsMember({"table", "csv", "json"}))
      ->option_text("table|csv|json");
}

}  // namespace ers::analysis

#endif  // ERS_ANALYSIS_FORMAT_OPTION_H_
