// Replies of the binary protocol.
#include "protocol/binary.h"
#include "protocol/reply_writers.h"

namespace ers::proxy {
namespace {

constexpr int kFlagsBytes = 4;
constexpr int kNumberBytes = 8;

// memcached answers a failed add or replace in the words of their conditions.
BinaryStatus NotStored(const ClientRequest& request) {
  if (request.operation == Operation::kStore) {
    if (request.mode == StoreMode::kAdd) return BinaryStatus::kExists;
    if (request.mode == StoreMode::kReplace) return BinaryStatus::kNotFound;
  }
  return BinaryStatus::kNotStored;
}

void AppendMiss(const ClientRequest& request, std::string& out) {
  if (request.operation == Operation::kGet) {
    if (request.style.quiet) return;
    if (request.style.with_key) {
      AppendBinaryPacket(
          request.style,
          {.status = BinaryStatus::kNotFound, .key = request.key}, out);
      return;
    }
  }
  AppendBinaryError(request.style, BinaryStatus::kNotFound, "", out);
}

void AppendBinaryDone(const ClientRequest& request, const Reply& reply,
                      std::string& out) {
  if (request.style.quiet) return;
  BinaryPacket packet;
  std::string body;
  if (request.operation == Operation::kTouch) {
    packet.cas = reply.item.cas;
    AppendBinaryNumber(reply.item.client_flags, kFlagsBytes, body);
    packet.extras = body;
    AppendBinaryPacket(request.style, packet, out);
    return;
  }
  if (request.operation == Operation::kStore) {
    packet.cas = reply.item.cas;
  } else if (request.operation == Operation::kArithmetic) {
    packet.cas = reply.item.cas;
    AppendBinaryNumber(reply.number, kNumberBytes, body);
  } else if (request.operation == Operation::kVersion) {
    body = reply.text;
  }
  packet.value_bytes = body.size();
  AppendBinaryPacket(request.style, packet, out);
  out += body;
}

}  // namespace

void AppendBinaryReply(const ClientRequest& request, const Reply& reply,
                       std::string& out) {
  const ReplyStyle& style = request.style;
  switch (reply.outcome) {
    case ReplyStatus::kDone:
      return AppendBinaryDone(request, reply, out);
    case ReplyStatus::kNotFound:
      return AppendMiss(request, out);
    case ReplyStatus::kNotStored:
    case ReplyStatus::kAlreadyThere:
      return AppendBinaryError(style, NotStored(request), "", out);
    case ReplyStatus::kExists:
      return AppendBinaryError(style, BinaryStatus::kExists, "", out);
    case ReplyStatus::kNotNumber:
      return AppendBinaryError(style, BinaryStatus::kNotNumber, "", out);
    case ReplyStatus::kTooLarge:
      return AppendBinaryError(style, BinaryStatus::kTooLarge, "", out);
    case ReplyStatus::kNoMemory:
      return AppendBinaryError(style, BinaryStatus::kNoMemory, "", out);
    case ReplyStatus::kClientError:
      return AppendBinaryError(style, BinaryStatus::kInvalid, reply.text, out);
    case ReplyStatus::kServerError:
      return AppendBinaryError(style, BinaryStatus::kInternal, reply.text, out);
  }
}

void AppendBinaryValueHeader(const ClientRequest& request, const ItemInfo& item,
                             std::string& out) {
  std::string extras;
  AppendBinaryNumber(item.client_flags, kFlagsBytes, extras);
  AppendBinaryPacket(
      request.style,
      {.cas = item.cas,
       .extras = extras,
       .key = request.style.with_key ? std::string_view(request.key)
                                     : std::string_view(),
       .value_bytes = item.bytes},
      out);
}

}  // namespace ers::proxy
