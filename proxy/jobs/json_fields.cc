#include "jobs/json_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "shared/base64.h"

namespace ers::proxy {
namespace {

using nlohmann::json;

bool IsUtf8(const std::string& bytes) {
  const std::string text =
      json(bytes).dump(-1, ' ', false, json::error_handler_t::ignore);
  return json::parse(text) == bytes;
}

std::string Base64Name(std::string_view name) {
  return fmt::format("{}_base64", name);
}

// Checks for names that come twice in one object, of which the parser would
// keep the last one.
struct Repeats {
  struct Object {
    std::set<std::string> names;
    std::string reading;  // the last one
  };
  std::vector<Object> open;
  std::string found;  // the first one, with its path

  void Feed(json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start) {
      open.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      open.pop_back();
    } else if (event == json::parse_event_t::key) {
      Object& object = open.back();
      object.reading = parsed.get_ref<const std::string&>();
      if (object.names.insert(object.reading).second || !found.empty()) return;
      // Only now: paths of deep objects are long.
      for (const Object& one : open) {
        found += (&one == open.data() ? "" : ".") + one.reading;
      }
    }
  }
};

}  // namespace

JsonFields::JsonFields(const json& value, std::string path)
    : value_(value), path_(std::move(path)) {
  if (!value.is_object()) {
    const std::string_view what =
        path_.empty() ? std::string_view("this")
                      : std::string_view(path_).substr(0, path_.size() - 1);
    Refuse(Status(StatusCode::kInvalidArgument,
                  fmt::format("{} must be a JSON object", what)));
  }
}

void JsonFields::Know(std::string_view name) {
  if (std::find(known_.begin(), known_.end(), name) != known_.end()) return;
  known_.emplace_back(name);
}

bool JsonFields::Has(std::string_view name) {
  Know(name);
  return value_.is_object() && value_.contains(std::string(name));
}

const json* JsonFields::Take(std::string_view name) {
  return Has(name) ? &value_.at(std::string(name)) : nullptr;
}

void JsonFields::Number(std::string_view name, std::uint64_t least,
                        std::uint64_t most, std::uint64_t& into) {
  const json* value = Take(name);
  if (value == nullptr) return;
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() < least ||
      value->get<std::uint64_t>() > most) {
    Refuse(name,
           fmt::format("must be a whole number from {} to {}", least, most));
    return;
  }
  into = value->get<std::uint64_t>();
}

void JsonFields::Real(std::string_view name, double& into) {
  const json* value = Take(name);
  if (value == nullptr) return;
  if (!value->is_number() || !(value->get<double>() >= 0)) {
    Refuse(name, "must be a number from 0 on");
    return;
  }
  into = value->get<double>();
}

void JsonFields::Flag(std::string_view name, bool& into) {
  const json* value = Take(name);
  if (value == nullptr) return;
  if (!value->is_boolean()) {
    Refuse(name, "must be true or false");
    return;
  }
  into = value->get<bool>();
}

void JsonFields::Text(std::string_view name, std::string& into) {
  const json* value = Take(name);
  if (value == nullptr) return;
  if (!value->is_string()) {
    Refuse(name, "must be text");
    return;
  }
  into = value->get<std::string>();
}

void JsonFields::Bytes(std::string_view name, std::string& into) {
  Know(name);
  const std::string encoded_name = Base64Name(name);
  if (!Has(encoded_name)) {
    Text(name, into);
    return;
  }
  std::string encoded;
  std::string bytes;
  Text(encoded_name, encoded);
  if (Has(name)) {
    Refuse(name, fmt::format("give it or {}, not both", encoded_name));
  } else if (!DecodeBase64(encoded, bytes)) {
    Refuse(encoded_name, "must be base64 with padding, of at least one byte");
  } else {
    into = std::move(bytes);
  }
}

void JsonFields::Refuse(std::string_view name, std::string_view why) {
  Refuse(Status(StatusCode::kInvalidArgument,
                fmt::format("{}{}: {}", path_, name, why)));
}

void JsonFields::Refuse(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

Status JsonFields::Finish() {
  if (!status_.ok() || !value_.is_object()) return status_;
  for (const auto& [name, value] : value_.items()) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) {
      continue;
    }
    Refuse(name,
           fmt::format("no such field; there are {}", fmt::join(known_, ", ")));
    break;
  }
  return status_;
}

Result<json> ParseJson(std::string_view text) {
  Repeats repeats;
  const auto check = [&repeats](int, json::parse_event_t event, json& parsed) {
    repeats.Feed(event, parsed);
    return true;
  };
  json value = json::parse(text, check, /*allow_exceptions=*/false);
  if (value.is_discarded()) {
    return Fail(StatusCode::kInvalidArgument,
                "this is no JSON: send an object, with the fields of "
                "docs/reference/protocol.md, HTTP");
  }
  if (!repeats.found.empty()) {
    return Fail(StatusCode::kInvalidArgument,
                fmt::format("{}: it is given twice", repeats.found));
  }
  return value;
}

void SetBytes(nlohmann::ordered_json& object, std::string_view name,
              const std::string& bytes) {
  if (IsUtf8(bytes)) {
    object[std::string(name)] = bytes;
    return;
  }
  std::string encoded;
  AppendBase64(bytes, encoded);
  object[Base64Name(name)] = encoded;
}

}  // namespace ers::proxy
