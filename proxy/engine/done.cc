#include "engine/done.h"

namespace ers::proxy {

Done Failed(const Status& status, Counters& counters) {
  Done done;
  done.text = status.message();
  switch (status.code()) {
    case StatusCode::kNotFound:
      done.reply.outcome = ReplyStatus::kNotFound;
      return done;
    case StatusCode::kConflict:
      done.reply.outcome = ReplyStatus::kExists;
      return done;
    case StatusCode::kAlreadyThere:
      done.reply.outcome = ReplyStatus::kAlreadyThere;
      return done;
    case StatusCode::kTooLarge:
      done.reply.outcome = ReplyStatus::kTooLarge;
      return done;
    case StatusCode::kNoMemory:
      done.reply.outcome = ReplyStatus::kNoMemory;
      break;
    case StatusCode::kInvalidArgument:
      done.reply.outcome = ReplyStatus::kClientError;
      return done;
    case StatusCode::kOk:
    case StatusCode::kUnavailable:
    case StatusCode::kOutcomeUnknown:
    case StatusCode::kCorruption:
    case StatusCode::kUnsupportedFormat:
    case StatusCode::kNotManaged:
    case StatusCode::kIncompatible:
      done.reply.outcome = ReplyStatus::kServerError;
      break;
  }
  counters.Add(Counter::kServerErrors);
  return done;
}

}  // namespace ers::proxy
