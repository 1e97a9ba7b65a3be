// Replies of the meta protocol.
#include <fmt/format.h>

#include <iterator>

#include "protocol/reply_writers.h"
#include "shared/base64.h"

namespace ers::proxy {
namespace {

void AppendKey(const ClientRequest& request, std::string& out) {
  if (request.style.key_is_base64) {
    AppendBase64(request.key, out);
  } else {
    out += request.key;
  }
}

void AppendFlag(const ClientRequest& request, const ItemInfo& item, char flag,
                std::string& out) {
  auto end = std::back_inserter(out);
  switch (flag) {
    case 'c':
      fmt::format_to(end, " c{}", item.cas);
      break;
    case 'f':
      fmt::format_to(end, " f{}", item.client_flags);
      break;
    case 'h':
      fmt::format_to(end, " h{}", item.fetched ? 1 : 0);
      break;
    case 'k':
      out += " k";
      AppendKey(request, out);
      if (request.style.key_is_base64) out += " b";
      break;
    case 'l':
      fmt::format_to(end, " l{}", item.idle);
      break;
    case 'O':
      fmt::format_to(end, " O{}", request.style.opaque);
      break;
    case 's':
      fmt::format_to(end, " s{}", item.bytes);
      break;
    case 't':
      fmt::format_to(end, " t{}", item.ttl);
      break;
    default:
      break;
  }
}

// Those flags that were asked for and are among `reported`.
void AppendFlags(const ClientRequest& request, const ItemInfo& item,
                 std::string_view reported, std::string& out) {
  for (const char flag : request.style.return_flags) {
    if (reported.find(flag) != std::string_view::npos) {
      AppendFlag(request, item, flag, out);
    }
  }
}

void AppendWins(const ItemInfo& item, std::string& out) {
  if (item.another_won) out += " Z";
  if (item.stale) out += " X";
  if (item.won) out += " W";
}

void AppendDebug(const ClientRequest& request, const ItemInfo& item,
                 std::string& out) {
  out += "ME ";
  AppendKey(request, out);
  // memcached gives the seconds since the expiry, and -1 for never. Items here
  // are in no slab class.
  fmt::format_to(std::back_inserter(out),
                 " exp={} la={} cas={} fetch={} cls=0 size={}\r\n",
                 item.ttl < 0 ? -1 : -item.ttl, item.idle, item.cas,
                 item.fetched ? "yes" : "no", item.bytes);
}

void AppendMetaDone(const ClientRequest& request, const Reply& reply,
                    std::string& out) {
  if (request.operation == Operation::kNoop) {
    out += "MN\r\n";
    return;
  }
  if (request.operation == Operation::kDebug) {
    return AppendDebug(request, reply.item, out);
  }
  if (request.style.quiet && request.operation != Operation::kGet &&
      !reply.created) {
    return;
  }
  const bool number =
      request.operation == Operation::kArithmetic && request.want_value;
  const std::string digits =
      number ? fmt::to_string(reply.number) : std::string();
  if (number) {
    fmt::format_to(std::back_inserter(out), "VA {}", digits.size());
  } else {
    out += "HD";
  }
  AppendFlags(request, reply.item, InfoOf(request.operation).meta_flags, out);
  if (request.operation == Operation::kGet) AppendWins(reply.item, out);
  out += "\r\n";
  if (number) out += digits + "\r\n";
}

// A store answers a CAS of 0 when it failed.
void AppendOther(const ClientRequest& request, std::string_view code,
                 std::string& out) {
  out += code;
  AppendFlags(request, ItemInfo(),
              request.operation == Operation::kStore ? "ckO" : "kO", out);
  out += "\r\n";
}

}  // namespace

void AppendMetaReply(const ClientRequest& request, const Reply& reply,
                     std::string& out) {
  switch (reply.outcome) {
    case ReplyStatus::kDone:
      return AppendMetaDone(request, reply, out);
    case ReplyStatus::kNotStored:
      return AppendOther(request, "NS", out);
    case ReplyStatus::kExists:
      return AppendOther(request, "EX", out);
    case ReplyStatus::kNotFound:
      if (request.operation == Operation::kDebug) {
        out += "EN\r\n";
      } else if (request.operation != Operation::kGet) {
        AppendOther(request, "NF", out);
      } else if (!request.style.quiet) {
        AppendOther(request, "EN", out);
      }
      return;
    case ReplyStatus::kAlreadyThere:
    case ReplyStatus::kNotNumber:
    case ReplyStatus::kTooLarge:
    case ReplyStatus::kNoMemory:
    case ReplyStatus::kClientError:
    case ReplyStatus::kServerError:
      return AppendErrorLine(request, reply, out);
  }
}

void AppendMetaValueHeader(const ClientRequest& request, const ItemInfo& item,
                           std::string& out) {
  fmt::format_to(std::back_inserter(out), "VA {}", item.bytes);
  AppendFlags(request, item, InfoOf(Operation::kGet).meta_flags, out);
  AppendWins(item, out);
  out += "\r\n";
}

}  // namespace ers::proxy
