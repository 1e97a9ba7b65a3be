#include "metrics/commands.h"

namespace ers::proxy {
namespace {

Command StoreCommand(const ClientRequest& request) {
  switch (request.mode) {
    case StoreMode::kAdd:
      return Command::kAdd;
    case StoreMode::kReplace:
      return Command::kReplace;
    case StoreMode::kAppend:
      return Command::kAppend;
    case StoreMode::kPrepend:
      return Command::kPrepend;
    case StoreMode::kSet:
      break;
  }
  return request.compare_cas ? Command::kCas : Command::kSet;
}

}  // namespace

Command CommandOf(const ClientRequest& request) {
  const bool meta = request.style.dialect == Dialect::kMeta;
  switch (request.operation) {
    case Operation::kGet:
      if (meta) return Command::kMg;
      return request.exptime ? Command::kGat : Command::kGet;
    case Operation::kEndOfGets:
      return Command::kEnd;
    case Operation::kStore:
      return meta ? Command::kMs : StoreCommand(request);
    case Operation::kDelete:
      return meta ? Command::kMd : Command::kDelete;
    case Operation::kArithmetic:
      if (meta) return Command::kMa;
      return request.decrement ? Command::kDecr : Command::kIncr;
    case Operation::kTouch:
      return Command::kTouch;
    case Operation::kDebug:
      return Command::kMe;
    case Operation::kFlush:
      return Command::kFlushAll;
    case Operation::kStats:
      return Command::kStats;
    case Operation::kVersion:
      return Command::kVersion;
    case Operation::kVerbosity:
      return Command::kVerbosity;
    case Operation::kNoop:
      return meta ? Command::kMn : Command::kNoop;
    case Operation::kQuit:
      return Command::kQuit;
    case Operation::kTransition:
      return Command::kErsTransition;
    case Operation::kUpdate:
      return Command::kErsUpdate;
    case Operation::kInspect:
      return Command::kErsStat;
    case Operation::kList:
      return Command::kErsList;
  }
  return Command::kEnd;
}

RequestResult ResultOf(Command command, ReplyStatus outcome, bool created) {
  if (command == Command::kInvalid) return RequestResult::kClientError;
  switch (outcome) {
    case ReplyStatus::kDone:
      return created ? RequestResult::kCreated
                     : kDoneResults[static_cast<std::size_t>(command)];
    case ReplyStatus::kNotFound:
      return RequestResult::kMiss;
    case ReplyStatus::kNotStored:
      return RequestResult::kNotStored;
    case ReplyStatus::kExists:
      return RequestResult::kExists;
    case ReplyStatus::kNotNumber:
      return RequestResult::kNotNumber;
    case ReplyStatus::kAlreadyThere:
      return RequestResult::kAlreadyThere;
    case ReplyStatus::kTooLarge:
      return RequestResult::kTooLarge;
    case ReplyStatus::kNoMemory:
      return RequestResult::kOutOfMemory;
    case ReplyStatus::kClientError:
      return RequestResult::kClientError;
    case ReplyStatus::kServerError:
      break;
  }
  return RequestResult::kServerError;
}

}  // namespace ers::proxy
