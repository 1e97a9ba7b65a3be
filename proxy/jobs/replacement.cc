#include "jobs/replacement.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "jobs/json_fields.h"

namespace ers::proxy {

Result<Replacement> ParseReplacement(std::string_view text) {
  const Result<nlohmann::json> value = ParseJson(text);
  if (!value) return Fail(value.error());
  JsonFields fields(*value, "");
  Replacement replacement;
  fields.Text("old", replacement.old_server);
  fields.Text("new", replacement.new_server);
  Status status = fields.Finish();
  if (!status.ok()) return Fail(std::move(status));
  return replacement;
}

}  // namespace ers::proxy
