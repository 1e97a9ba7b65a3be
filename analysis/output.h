// What the programs that print rows have in common: formats, and rows of text.
#ifndef ERS_ANALYSIS_OUTPUT_H_
#define ERS_ANALYSIS_OUTPUT_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ers/status.h"

namespace ers::analysis {

enum class Format { kTable, kCsv, kJson };

// Rows as cells. The first names the columns; all are as long.
using TextRow = std::vector<std::string>;

// The number that all of `text` is.
std::optional<double> Number(const std::string& text);

// Cells with commas are quoted; none may hold a quote. Ends with a newline.
std::string RenderCsv(std::span<const TextRow> rows);
// For people: numbers to the right, words to the left. Ends with a newline.
std::string RenderTable(std::span<const TextRow> rows);

// To standard output. kUnavailable where that cannot take it (a full disk).
Status Print(const std::string& text);

}  // namespace ers::analysis

#endif  // ERS_ANALYSIS_OUTPUT_H_
