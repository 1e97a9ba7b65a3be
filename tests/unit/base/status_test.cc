#include "ers/status.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

namespace ers {
namespace {

TEST_CASE("every status code has a name of its own") {
  std::set<std::string> names;
  constexpr int kLast = static_cast<int>(StatusCode::kIncompatible);
  for (int code = 0; code <= kLast; ++code) {
    CAPTURE(code);
    const std::string name(StatusCodeName(static_cast<StatusCode>(code)));
    CHECK(name != "unknown");
    CHECK(names.insert(name).second);
    for (const char c : name) CHECK(((c >= 'a' && c <= 'z') || c == '-'));
  }
  CHECK(StatusCodeName(static_cast<StatusCode>(kLast + 1)) == "unknown");
  CHECK(StatusCodeName(StatusCode::kNotFound) == "not-found");
}

TEST_CASE("a status is fine until it says otherwise") {
  CHECK(Status().ok());
  const Status bad(StatusCode::kTooLarge, "too much");
  CHECK_FALSE(bad.ok());
  CHECK(bad.code() == StatusCode::kTooLarge);
  CHECK(bad.message() == "too much");
}

}  // namespace
}  // namespace ers
