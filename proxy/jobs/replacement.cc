#include "jobs/replacement.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "jobs/json_fields.h"
#include "net/endpoint.h"

namespace ers::proxy {
namespace {

void TakeServer(JsonFields& fields, std::string_view name, std::string& into) {
  if (!fields.Has(name)) {
    fields.Refuse(name, "missing: the address of a server");
    return;
  }
  fields.Text(name, into);
  const Result<net::Endpoint> server = net::ParseEndpoint(into);
  if (!server) fields.Refuse(name, server.error().message());
}

}  // namespace

Result<Replacement> ParseReplacement(std::string_view text) {
  const Result<nlohmann::json> value = ParseJson(text);
  if (!value) return Fail(value.error());
  JsonFields fields(*value, "");
  Replacement replacement;
  TakeServer(fields, "old", replacement.old_server);
  TakeServer(fields, "new", replacement.new_server);
  Status status = fields.Finish();
  if (!status.ok()) return Fail(std::move(status));
  return replacement;
}

}  // namespace ers::proxy
