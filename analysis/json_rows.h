// Rows that are printed as JSON, or by the same names as text.
#ifndef ERS_ANALYSIS_JSON_ROWS_H_
#define ERS_ANALYSIS_JSON_ROWS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/output.h"

namespace ers::analysis {

// An object each, all with the same keys. There must be one at least
// (asserted).
std::string RenderJsonRows(const std::vector<nlohmann::ordered_json>& rows,
                           Format format);

template <typename Row>
std::string RenderJsonRows(const std::vector<Row>& rows,
                           nlohmann::ordered_json (*to_json)(const Row&),
                           Format format) {
  std::vector<nlohmann::ordered_json> all;
  for (const Row& row : rows) all.push_back(to_json(row));
  return RenderJsonRows(all, format);
}

}  // namespace ers::analysis

#endif  // ERS_ANALYSIS_JSON_ROWS_H_
