// Amounts as people write and read them: 64MiB, 50MB/s, 7d.
#ifndef ERS_CLI_UNITS_H_
#define ERS_CLI_UNITS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ers::cli {

// "4096", "64MiB" (powers of 1024), "50MB" (of 1000), each also with "/s".
std::optional<std::uint64_t> ParseBytes(std::string_view text);
// "90", "500ms", "90s", "1.5h", "7d", "2w"; "min" or "m" are minutes.
std::optional<double> ParseSeconds(std::string_view text);

// Three digits or all: "512 bytes", "1.5 MiB", "123 GiB".
std::string BytesText(std::uint64_t bytes);
// With the exact number where that is another: "1048576 bytes (1 MiB)".
std::string ExactBytesText(std::uint64_t bytes);
// The two largest units: "45 s", "3 min 20 s", "2 d 5 h". Not negative.
std::string SecondsText(double seconds);

// Make numbers of what an option is given, for the checks behind them.
CLI::Validator AsBytes();
CLI::Validator AsSeconds();

}  // namespace ers::cli

#endif  // ERS_CLI_UNITS_H_
