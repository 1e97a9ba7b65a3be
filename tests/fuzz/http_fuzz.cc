// Any bytes to the admin port: wherever they are cut, the head is found at the
// same place, and what is let through keeps its limits.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "admin/http.h"

namespace ers::proxy {
namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

void Check(std::string_view input) {
  const std::optional<std::size_t> length = HttpHeadLength(input);
  const std::optional<HttpReply> early = RefuseHttpLine(input);
  if (!length) return;
  Require(*length <= input.size(), "the head is of the input");
  Require(!HttpHeadLength(input.substr(0, *length - 1)).has_value(),
          "it is there with its last byte");
  HttpRequest request;
  const std::optional<HttpReply> refusal =
      ParseHttpHead(input.substr(0, *length), request);
  Require(!early || refusal, "what is refused early is refused");
  if (refusal) {
    Require(refusal->code >= 400, "a refusal has its code");
    return;
  }
  Require(request.content_length <= kMaxHttpBody, "a body has its limit");
  Require(!request.method.empty(), "there is a method");
  Require(request.path.find_first_of("? \n") == std::string::npos,
          "the path is cut off");
}

}  // namespace
}  // namespace ers::proxy

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  ers::proxy::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
