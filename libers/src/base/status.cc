#include "ers/status.h"

namespace ers {

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kNotFound:
      return "not-found";
    case StatusCode::kInvalidArgument:
      return "invalid-argument";
    case StatusCode::kUnavailable:
      return "unavailable";
    case StatusCode::kOutcomeUnknown:
      return "outcome-unknown";
    case StatusCode::kNoMemory:
      return "no-memory";
    case StatusCode::kTooLarge:
      return "too-large";
    case StatusCode::kCorruption:
      return "corruption";
    case StatusCode::kUnsupportedFormat:
      return "unsupported-format";
    case StatusCode::kNotManaged:
      return "not-managed";
    case StatusCode::kConflict:
      return "conflict";
    case StatusCode::kAlreadyThere:
      return "already-there";
    case StatusCode::kIncompatible:
      return "incompatible";
  }
  return "unknown";
}

}  // namespace ers
