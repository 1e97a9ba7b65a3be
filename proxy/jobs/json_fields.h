// JsonFields: the fields of a JSON object, each taken by name; what was not
// taken is refused.
#ifndef ERS_PROXY_JOBS_JSON_FIELDS_H_
#define ERS_PROXY_JOBS_JSON_FIELDS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ers/status.h"

namespace ers::proxy {

// A field that is absent leaves `into` as it is; so does one at fault, and the
// first of these is returned by Finish. Thread-compatible.
class JsonFields {
 public:
  // `path` stands before the names in messages: "select.". `value` outlives
  // this.
  JsonFields(const nlohmann::json& value, std::string path);

  // The caller knows such a field.
  [[nodiscard]] bool Has(std::string_view name);
  // Null where it is absent.
  const nlohmann::json* Take(std::string_view name);
  void Number(std::string_view name, std::uint64_t least, std::uint64_t most,
              std::uint64_t& into);
  void Real(std::string_view name, double& into);
  void Flag(std::string_view name, bool& into);
  void Text(std::string_view name, std::string& into);
  // Any bytes: as text, or under NAME_base64.
  void Bytes(std::string_view name, std::string& into);
  // Of a field or what is inside it.
  void Refuse(std::string_view name, std::string_view why);
  void Refuse(Status status);

  // kInvalidArgument: the first fault, also a field that was not taken.
  Status Finish();

 private:
  const nlohmann::json& value_;
  const std::string path_;
  void Know(std::string_view name);

  std::vector<std::string> known_;  // in the order asked for
  Status status_;
};

// kInvalidArgument: it is no JSON, or names a field twice.
Result<nlohmann::json> ParseJson(std::string_view text);

// Sets NAME, or NAME_base64 where the bytes are no UTF-8.
void SetBytes(nlohmann::ordered_json& object, std::string_view name,
              const std::string& bytes);

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_JSON_FIELDS_H_
