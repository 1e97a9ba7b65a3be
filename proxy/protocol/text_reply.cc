// Replies of the classic text protocol, and of our own commands.
#include <fmt/format.h>

#include <iterator>

#include "protocol/reply_writers.h"
#include "shared/plain_text.h"

namespace ers::proxy {
namespace {

void AppendTextDone(const Request& request, const Reply& reply,
                    std::string& out) {
  if (request.verb == Verb::kQuit) return;
  if (request.verb == Verb::kVersion) {
    out += "VERSION ";
    AppendOneLine(reply.text, out);
  } else if (request.verb == Verb::kArithmetic) {
    fmt::format_to(std::back_inserter(out), "{}", reply.number);
  } else if (request.verb == Verb::kStats && !reply.text.empty()) {
    AppendOneLine(reply.text, out);
  } else {
    out += InfoOf(request.verb).done_line;
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
    case Outcome::kNotNumber:
    case Outcome::kTooLarge:
    case Outcome::kNoMemory:
    case Outcome::kClientError:
    case Outcome::kServerError:
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
