#include "metrics/commands.h"

namespace ers::proxy {
namespace {

Command StoreCommand(const Request& request) {
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

Command CommandOf(const Request& request) {
  const bool meta = request.style.dialect == Dialect::kMeta;
  switch (request.verb) {
    case Verb::kGet:
      if (meta) return Command::kMg;
      return request.exptime ? Command::kGat : Command::kGet;
    case Verb::kEndOfGets:
      return Command::kEnd;
    case Verb::kStore:
      return meta ? Command::kMs : StoreCommand(request);
    case Verb::kDelete:
      return meta ? Command::kMd : Command::kDelete;
    case Verb::kArithmetic:
      if (meta) return Command::kMa;
      return request.decrement ? Command::kDecr : Command::kIncr;
    case Verb::kTouch:
      return Command::kTouch;
    case Verb::kDebug:
      return Command::kMe;
    case Verb::kFlush:
      return Command::kFlushAll;
    case Verb::kStats:
      return Command::kStats;
    case Verb::kVersion:
      return Command::kVersion;
    case Verb::kVerbosity:
      return Command::kVerbosity;
    case Verb::kNoop:
      return meta ? Command::kMn : Command::kNoop;
    case Verb::kQuit:
      return Command::kQuit;
    case Verb::kTransition:
      return Command::kErsTransition;
    case Verb::kUpdate:
      return Command::kErsUpdate;
    case Verb::kInspect:
      return Command::kErsStat;
    case Verb::kList:
      return Command::kErsList;
  }
  return Command::kEnd;
}

RequestResult ResultOf(Command command, Outcome outcome, bool created) {
  if (command == Command::kInvalid) return RequestResult::kClientError;
  switch (outcome) {
    case Outcome::kDone:
      return created ? RequestResult::kCreated
                     : kDoneResults[static_cast<std::size_t>(command)];
    case Outcome::kNotFound:
      return RequestResult::kMiss;
    case Outcome::kNotStored:
      return RequestResult::kNotStored;
    case Outcome::kExists:
      return RequestResult::kExists;
    case Outcome::kNotNumber:
      return RequestResult::kNotNumber;
    case Outcome::kAlreadyThere:
      return RequestResult::kAlreadyThere;
    case Outcome::kTooLarge:
      return RequestResult::kTooLarge;
    case Outcome::kNoMemory:
      return RequestResult::kOutOfMemory;
    case Outcome::kClientError:
      return RequestResult::kClientError;
    case Outcome::kServerError:
      break;
  }
  return RequestResult::kServerError;
}

}  // namespace ers::proxy
