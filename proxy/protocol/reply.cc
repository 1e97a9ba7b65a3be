#include "protocol/reply.h"

#include <fmt/format.h>

#include <iterator>

#include "protocol/binary.h"
#include "protocol/reply_writers.h"
#include "shared/base64.h"
#include "shared/plain_text.h"

namespace ers::proxy {

void AppendErrorLine(const ClientRequest& request, const Reply& reply,
                     std::string& out) {
  switch (reply.outcome) {
    case ReplyStatus::kNotNumber:
      out += "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
      return;
    case ReplyStatus::kTooLarge:
      out += "SERVER_ERROR object too large for cache\r\n";
      return;
    case ReplyStatus::kNoMemory:
      out += request.has_value() ? "SERVER_ERROR out of memory storing object"
                                 : "SERVER_ERROR out of memory";
      break;
    case ReplyStatus::kClientError:
      out += "CLIENT_ERROR ";
      AppendOneLine(reply.text, out);
      break;
    case ReplyStatus::kDone:
    case ReplyStatus::kNotStored:
    case ReplyStatus::kExists:
    case ReplyStatus::kNotFound:
    case ReplyStatus::kAlreadyThere:
    case ReplyStatus::kServerError:
      out += "SERVER_ERROR ";
      AppendOneLine(reply.text, out);
      break;
  }
  out += "\r\n";
}

void AppendReply(const ClientRequest& request, const Reply& reply,
                 std::string& out) {
  switch (request.style.dialect) {
    case Dialect::kText:
      return AppendTextReply(request, reply, out);
    case Dialect::kMeta:
      return AppendMetaReply(request, reply, out);
    case Dialect::kBinary:
      return AppendBinaryReply(request, reply, out);
  }
}

void AppendValueHeader(const ClientRequest& request, const ItemInfo& item,
                       std::string& out) {
  switch (request.style.dialect) {
    case Dialect::kText:
      return AppendTextValueHeader(request, item, out);
    case Dialect::kMeta:
      return AppendMetaValueHeader(request, item, out);
    case Dialect::kBinary:
      return AppendBinaryValueHeader(request, item, out);
  }
}

std::string_view ValueTrailer(const ClientRequest& request) {
  return request.style.dialect == Dialect::kBinary ? "" : "\r\n";
}

void AppendStat(const ClientRequest& request, std::string_view name,
                std::string_view value, std::string& out) {
  if (request.style.dialect == Dialect::kBinary) {
    AppendBinaryPacket(request.style,
                       {.key = name, .value_bytes = value.size()}, out);
    out += value;
    return;
  }
  out += "STAT ";
  AppendOneLine(name, out);
  out += ' ';
  AppendOneLine(value, out);
  out += "\r\n";
}

void AppendListed(std::string_view key, std::string_view scheme,
                  std::string_view width, std::uint64_t bytes,
                  std::string& out) {
  const bool encoded = NeedsBase64(key);
  out += "KEY ";
  if (encoded) {
    AppendBase64(key, out);
  } else {
    out += key;
  }
  fmt::format_to(std::back_inserter(out), " {} {} {}{}\r\n", scheme, width,
                 bytes, encoded ? " b" : "");
}

void AppendTrace(std::string_view name, std::string_view value,
                 std::string& out) {
  out += "TRACE ";
  AppendOneLine(name, out);
  out += ' ';
  AppendOneLine(value, out);
  out += "\r\n";
}

void AppendEndOfTrace(std::string& out) { out += "TRACED\r\n"; }

}  // namespace ers::proxy
