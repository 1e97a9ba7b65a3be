// Replies of the classic text protocol, and of our own commands.
#include <fmt/format.h>

#include <iterator>

#include "protocol/reply_writers.h"
#include "shared/plain_text.h"

namespace ers::proxy {
namespace {

std::string_view DoneLine(const Request& request) {
  switch (request.verb) {
    case Verb::kStore:
      return "STORED";
    case Verb::kDelete:
      return "DELETED";
    case Verb::kTouch:
      return "TOUCHED";
    case Verb::kUpdate:
      return "UPDATED";
    case Verb::kFlush:
    case Verb::kVerbosity:
      return "OK";
    case Verb::kEndOfGets:
    case Verb::kStats:
    case Verb::kInspect:
    case Verb::kTransition:
    case Verb::kList:
      return "END";
    default:
      return "";
  }
}

void AppendTextDone(const Request& request, const Reply& reply,
                    std::string& out) {
  switch (request.verb) {
    case Verb::kQuit:
      return;
    case Verb::kVersion:
      out += "VERSION ";
      AppendOneLine(reply.text, out);
      break;
    case Verb::kArithmetic:
      fmt::format_to(std::back_inserter(out), "{}", reply.number);
      break;
    case Verb::kStats:
      if (!reply.text.empty()) {
        AppendOneLine(reply.text, out);
        break;
      }
      [[fallthrough]];
    default:
      out += DoneLine(request);
      break;
  }
  out += "\r\n";
}

}  // namespace

void AppendTextReply(const Request& request, const Reply& reply,
                     std::string& out) {
  if (request.style.quiet || request.verb == Verb::kGet) return;
  switch (reply.outcome) {
    case Outcome::kDone:
      return AppendTextDone(request, reply, out);
    case Outcome::kNotStored:
      out += "NOT_STORED\r\n";
      return;
    case Outcome::kExists:
      out += "EXISTS\r\n";
      return;
    case Outcome::kNotFound:
      out += request.verb == Verb::kStats ? "ERROR\r\n" : "NOT_FOUND\r\n";
      return;
    case Outcome::kAlreadyThere:
      out += "ALREADY_THERE\r\n";
      return;
    default:
      return AppendErrorLine(request, reply, out);
  }
}

void AppendTextValueHeader(const Request& request, const ItemInfo& item,
                           std::string& out) {
  auto end = std::back_inserter(out);
  fmt::format_to(end, "VALUE {} {} {}", request.key, item.client_flags,
                 item.bytes);
  if (request.style.with_cas) fmt::format_to(end, " {}", item.cas);
  out += "\r\n";
}

}  // namespace ers::proxy
