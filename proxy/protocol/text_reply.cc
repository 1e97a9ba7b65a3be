// Replies of the classic text protocol, and of our own commands.
#include <fmt/format.h>

#include <iterator>

#include "protocol/reply_writers.h"
#include "shared/plain_text.h"

namespace ers::proxy {
namespace {

void AppendTextDone(const ClientRequest& request, const Reply& reply,
                    std::string& out) {
  if (request.operation == Operation::kQuit) return;
  if (request.operation == Operation::kVersion) {
    out += "VERSION ";
    AppendOneLine(reply.text, out);
  } else if (request.operation == Operation::kArithmetic) {
    fmt::format_to(std::back_inserter(out), "{}", reply.number);
  } else if (request.operation == Operation::kStats && !reply.text.empty()) {
    AppendOneLine(reply.text, out);
  } else {
    out += InfoOf(request.operation).done_line;
  }
  out += "\r\n";
}

}  // namespace

void AppendTextReply(const ClientRequest& request, const Reply& reply,
                     std::string& out) {
  if (request.style.quiet || request.operation == Operation::kGet) return;
  switch (reply.outcome) {
    case ReplyStatus::kDone:
      return AppendTextDone(request, reply, out);
    case ReplyStatus::kNotStored:
      out += "NOT_STORED\r\n";
      return;
    case ReplyStatus::kExists:
      out += "EXISTS\r\n";
      return;
    case ReplyStatus::kNotFound:
      out += request.operation == Operation::kStats ? "ERROR\r\n"
                                                    : "NOT_FOUND\r\n";
      return;
    case ReplyStatus::kAlreadyThere:
      out += "ALREADY_THERE\r\n";
      return;
    case ReplyStatus::kNotNumber:
    case ReplyStatus::kTooLarge:
    case ReplyStatus::kNoMemory:
    case ReplyStatus::kClientError:
    case ReplyStatus::kServerError:
      return AppendErrorLine(request, reply, out);
  }
}

void AppendTextValueHeader(const ClientRequest& request, const ItemInfo& item,
                           std::string& out) {
  auto end = std::back_inserter(out);
  fmt::format_to(end, "VALUE {} {} {}", request.key, item.client_flags,
                 item.bytes);
  if (request.style.with_cas) fmt::format_to(end, " {}", item.cas);
  out += "\r\n";
}

}  // namespace ers::proxy
