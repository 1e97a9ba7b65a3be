// What ersctl says: results on standard output, errors on standard error, as
// text or JSON.
#ifndef ERS_CTL_SUPPORT_REPORT_H_
#define ERS_CTL_SUPPORT_REPORT_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ers/object_info.h"
#include "ers/status.h"

namespace ers::ctl {

using Json = nlohmann::ordered_json;

enum ExitCode {
  kDone = 0,
  kNoSuchObject = 1,
  kBadUsage = 2,
  kClusterError = 3,
  kReportLost = 4,   // all was done, but could not be reported
  kNotWhole = 5,     // verify: objects have less redundancy than they should
  kObjectsLost = 6,  // verify, rebuild: objects cannot be read
  kAlreadySo = 7,    // there was nothing to do
};
ExitCode ExitCodeOf(StatusCode code);

// How a command ended: with `status`, after it did its work or before.
struct Ending {
  // Implicit: commands return a Status where they did nothing.
  // NOLINTNEXTLINE(google-explicit-constructor)
  Ending(Status of) : status(std::move(of)) {}
  Ending(Status of, bool did_its_work)
      : status(std::move(of)), done(did_its_work) {}
  // With an exit code of the command's own; kReportLost: `of` is what became of
  // the report of a command that changes nothing.
  Ending(Status of, ExitCode code) : status(std::move(of)), exit_code(code) {}

  Status status;
  bool done = false;
  std::optional<ExitCode> exit_code;
};

// Says on standard error what went wrong and returns the exit code. OK says
// nothing.
ExitCode ReportError(const Ending& ending, bool json);

// Blanks for what would make more lines than one of it: bytes of keys.
std::string OneLine(std::string_view text);
// One line of JSON. Bytes that are not UTF-8 become U+FFFD.
std::string Line(const Json& json);
// `key` (KeyJson) and everything that an ObjectInfo holds.
Json ObjectJson(std::string_view key, const ObjectInfo& info);
// "1048576 bytes, ers2:4,1,5, narrow"
std::string ObjectText(const ObjectInfo& info);

// Rows of cells as left-aligned columns, two spaces apart.
std::string Columns(const std::vector<std::vector<std::string>>& rows);

// Writes everything to the descriptor. kInvalidArgument names `what`.
Status WriteAll(int descriptor, std::span<const std::byte> bytes,
                std::string_view what);
// A report for standard output. A reader that left early has seen what it
// wanted: that is no error.
Status Print(std::string_view text);
// Of standard output: its reader has left, as Print does not say.
bool OutputHasEnded();
// The report of a command that changes nothing.
Ending PrintRead(std::string_view text);
// The report of a change that was made, or of a file that was written.
Ending PrintDone(std::string_view text);

}  // namespace ers::ctl

#endif  // ERS_CTL_SUPPORT_REPORT_H_
