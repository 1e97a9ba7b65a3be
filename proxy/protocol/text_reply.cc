// Replies of the classic text protocol, and of our own commands.
#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <iterator>

#include "protocol/reply_writers.h"
#include "shared/plain_text.h"

namespace ers::proxy {
namespace {

// Of every hit: a formatter takes ten times as long.
void AppendNumber(std::uint64_t number, std::string& out) {
  char digits[21] = " ";
  const auto end = std::to_chars(digits + 1, std::end(digits), number).ptr;
  out.append(digits, end);
}

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
  out += "VALUE ";
  out += request.key;
  AppendNumber(item.client_flags, out);
  AppendNumber(item.bytes, out);
  if (request.style.with_cas) AppendNumber(item.cas, out);
  out += "\r\n";
}

}  // namespace ers::proxy
