#include "engine/done.h"

namespace ers::proxy {

Done Failed(const Status& status, Counters& counters) {
  Done done;
  done.text = status.message();
  switch (status.code()) {
    case StatusCode::kNotFound:
      done.reply.outcome = Outcome::kNotFound;
      return done;
    case StatusCode::kConflict:
      done.reply.outcome = Outcome::kExists;
      return done;
    case StatusCode::kAlreadyThere:
      done.reply.outcome = Outcome::kAlreadyThere;
      return done;
    case StatusCode::kTooLarge:
      done.reply.outcome = Outcome::kTooLarge;
      return done;
    case StatusCode::kNoMemory:
      done.reply.outcome = Outcome::kNoMemory;
      break;
    case StatusCode::kInvalidArgument:
      done.reply.outcome = Outcome::kClientError;
      return done;
    case StatusCode::kOk:
    case StatusCode::kUnavailable:
    case StatusCode::kOutcomeUnknown:
    case StatusCode::kCorruption:
    case StatusCode::kUnsupportedFormat:
    case StatusCode::kNotManaged:
    case StatusCode::kIncompatible:
      done.reply.outcome = Outcome::kServerError;
      break;
  }
  counters.Add(Counter::kServerErrors);
  return done;
}

}  // namespace ers::proxy
