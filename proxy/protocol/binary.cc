#include "protocol/binary.h"

#include <array>

namespace ers::proxy {
namespace {

enum class Group : std::uint8_t {
  kUnknown,
  kGet,
  kTouchAndGet,
  kTouch,
  kStore,   // with flags and exptime as extras
  kAppend,  // and prepend
  kDelete,
  kArithmetic,
  kFlush,
  kStat,
  kVerbosity,
  kPlain,  // nothing but a header
};

struct Opcode {
  Group group = Group::kUnknown;
  Operation operation = Operation::kNoop;
  StoreMode mode = StoreMode::kSet;
  bool quiet = false;
  bool with_key = false;
  bool decrement = false;
};

constexpr std::size_t kOpcodes = 256;

constexpr std::array<Opcode, kOpcodes> MakeOpcodes() {
  std::array<Opcode, kOpcodes> all{};
  const auto store = [&](int loud, int silent, StoreMode mode, Group group) {
    all[loud] = {.group = group, .operation = Operation::kStore, .mode = mode};
    all[silent] = all[loud];
    all[silent].quiet = true;
  };
  const auto pair = [&](int loud, int silent, const Opcode& opcode) {
    all[loud] = opcode;
    all[silent] = opcode;
    all[silent].quiet = true;
  };
  store(0x01, 0x11, StoreMode::kSet, Group::kStore);
  store(0x02, 0x12, StoreMode::kAdd, Group::kStore);
  store(0x03, 0x13, StoreMode::kReplace, Group::kStore);
  store(0x0e, 0x19, StoreMode::kAppend, Group::kAppend);
  store(0x0f, 0x1a, StoreMode::kPrepend, Group::kAppend);
  pair(0x00, 0x09, {.group = Group::kGet, .operation = Operation::kGet});
  pair(0x0c, 0x0d,
       {.group = Group::kGet, .operation = Operation::kGet, .with_key = true});
  pair(0x1d, 0x1e,
       {.group = Group::kTouchAndGet, .operation = Operation::kGet});
  pair(0x23, 0x24,
       {.group = Group::kTouchAndGet,
        .operation = Operation::kGet,
        .with_key = true});
  pair(0x04, 0x14, {.group = Group::kDelete, .operation = Operation::kDelete});
  pair(0x05, 0x15,
       {.group = Group::kArithmetic, .operation = Operation::kArithmetic});
  pair(0x06, 0x16,
       {.group = Group::kArithmetic,
        .operation = Operation::kArithmetic,
        .decrement = true});
  pair(0x08, 0x18, {.group = Group::kFlush, .operation = Operation::kFlush});
  pair(0x07, 0x17, {.group = Group::kPlain, .operation = Operation::kQuit});
  all[0x1c] = {.group = Group::kTouch, .operation = Operation::kTouch};
  all[0x0a] = {.group = Group::kPlain, .operation = Operation::kNoop};
  all[0x0b] = {.group = Group::kPlain, .operation = Operation::kVersion};
  all[0x10] = {.group = Group::kStat, .operation = Operation::kStats};
  all[0x1b] = {.group = Group::kVerbosity, .operation = Operation::kVerbosity};
  return all;
}
constexpr std::array<Opcode, kOpcodes> kTable = MakeOpcodes();

constexpr std::uint32_t kMaxBodyBytes = 0x7fffffff;

// An exptime of arithmetic that says: do not create the item.
constexpr std::uint64_t kNoVivify = 0xffffffff;

std::uint64_t TakeNumber(std::string_view& bytes, std::size_t count) {
  std::uint64_t number = 0;
  for (const char c : bytes.substr(0, count)) {
    number = number << 8 | static_cast<unsigned char>(c);
  }
  bytes.remove_prefix(count);
  return number;
}

// Whether lengths are as the command has them.
bool FitsGroup(Group group, const BinaryHeader& header) {
  const bool key = header.key_bytes > 0;
  const bool value = header.body_bytes > header.key_bytes + header.extras_bytes;
  const int extras = header.extras_bytes;
  switch (group) {
    case Group::kGet:
    case Group::kDelete:
      return key && extras == 0 && !value;
    case Group::kTouch:
    case Group::kTouchAndGet:
      return key && extras == 4 && !value;
    case Group::kStore:
      return key && extras == 8;
    case Group::kAppend:
      return key && extras == 0;
    case Group::kArithmetic:
      return key && extras == 20 && !value;
    case Group::kFlush:
      return !key && (extras == 0 || extras == 4) && !value;
    case Group::kStat:
      return extras == 0 && !value;
    case Group::kVerbosity:
      return !key && extras == 4 && !value;
    case Group::kPlain:
      return !key && extras == 0 && !value;
    case Group::kUnknown:
      break;
  }
  return false;
}

}  // namespace

std::string_view BinaryStatusText(BinaryStatus status) {
  switch (status) {
    case BinaryStatus::kNotFound:
      return "Not found";
    case BinaryStatus::kExists:
      return "Data exists for key.";
    case BinaryStatus::kTooLarge:
      return "Too large.";
    case BinaryStatus::kInvalid:
      return "Invalid arguments";
    case BinaryStatus::kNotStored:
      return "Not stored.";
    case BinaryStatus::kNotNumber:
      return "Non-numeric server-side value for incr or decr";
    case BinaryStatus::kUnknownCommand:
      return "Unknown command";
    case BinaryStatus::kNoMemory:
      return "Out of memory";
    case BinaryStatus::kNotSupported:
      return "Not supported";
    case BinaryStatus::kInternal:
      return "Internal error";
    case BinaryStatus::kOk:
      break;
  }
  return "";
}

BinaryHeader ReadBinaryHeader(std::string_view bytes) {
  BinaryHeader header;
  bytes.remove_prefix(1);  // magic
  header.opcode = static_cast<std::uint8_t>(TakeNumber(bytes, 1));
  header.key_bytes = static_cast<std::uint16_t>(TakeNumber(bytes, 2));
  header.extras_bytes = static_cast<std::uint8_t>(TakeNumber(bytes, 1));
  bytes.remove_prefix(3);  // data type and vbucket: memcached reads neither
  header.body_bytes = static_cast<std::uint32_t>(TakeNumber(bytes, 4));
  header.opaque = static_cast<std::uint32_t>(TakeNumber(bytes, 4));
  header.cas = TakeNumber(bytes, 8);
  return header;
}

BinaryVerdict CheckBinaryHeader(const BinaryHeader& header,
                                const Limits& limits) {
  const std::uint32_t before_value =
      std::uint32_t{header.key_bytes} + header.extras_bytes;
  if (before_value > header.body_bytes) {
    return {.status = BinaryStatus::kUnknownCommand, .close = true};
  }
  if (header.key_bytes > kMaxKeyBytes) {
    return {.status = BinaryStatus::kInvalid, .close = true};
  }
  const Group group = kTable[header.opcode].group;
  if (group == Group::kUnknown) {
    return {.status = BinaryStatus::kUnknownCommand,
            .swallow = header.body_bytes};
  }
  if (!FitsGroup(group, header)) {
    return {.status = BinaryStatus::kInvalid, .close = true};
  }
  // Only a command with a value has one by now.
  if (header.body_bytes - before_value > limits.max_value_bytes) {
    // No body at all to memcached, which counts them in an int: nothing waits
    // until it has come.
    const bool absurd = header.body_bytes > kMaxBodyBytes;
    return {.status = BinaryStatus::kTooLarge, .close = absurd};
  }
  return {};
}

void FillBinaryRequest(const BinaryHeader& header,
                       std::string_view extras_and_key,
                       ClientRequest& request) {
  const Opcode& opcode = kTable[header.opcode];
  std::string_view extras = extras_and_key.substr(0, header.extras_bytes);
  const std::string_view key = extras_and_key.substr(header.extras_bytes);
  request.operation = opcode.operation;
  request.style.dialect = Dialect::kBinary;
  request.style.quiet = opcode.quiet;
  request.style.with_key = opcode.with_key;
  request.style.opcode = header.opcode;
  request.style.opaque_id = header.opaque;
  request.key = key;
  if (header.cas != 0) request.compare_cas = header.cas;
  const auto take_exptime = [&extras] {
    return static_cast<std::int64_t>(TakeNumber(extras, 4));
  };
  switch (opcode.group) {
    case Group::kGet:
      request.want_value = true;
      request.compare_cas.reset();
      break;
    case Group::kTouchAndGet:
      request.want_value = true;
      [[fallthrough]];
    case Group::kTouch:
      request.exptime = take_exptime();
      request.compare_cas.reset();
      break;
    case Group::kStore:
    case Group::kAppend:
      request.mode = opcode.mode;
      request.value_bytes = header.body_bytes - extras_and_key.size();
      if (opcode.group == Group::kAppend) break;
      request.client_flags = static_cast<std::uint32_t>(TakeNumber(extras, 4));
      request.exptime = take_exptime();
      // With a CAS all three mean the same to memcached.
      if (request.compare_cas) request.mode = StoreMode::kSet;
      break;
    case Group::kArithmetic: {
      request.decrement = opcode.decrement;
      request.want_value = true;
      request.delta = TakeNumber(extras, 8);
      request.initial = TakeNumber(extras, 8);
      const std::uint64_t exptime = TakeNumber(extras, 4);
      if (exptime != kNoVivify) {
        request.vivify = static_cast<std::int64_t>(exptime);
        request.time_flags += 'N';
      }
      break;
    }
    case Group::kFlush:
      if (!extras.empty()) request.exptime = take_exptime();
      break;
    case Group::kStat:
      request.argument = key;
      request.key.clear();
      break;
    case Group::kVerbosity:
      request.level = static_cast<std::uint32_t>(TakeNumber(extras, 4));
      break;
    case Group::kDelete:
    case Group::kPlain:
    case Group::kUnknown:
      break;
  }
}

void AppendBinaryNumber(std::uint64_t number, int bytes, std::string& out) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out += static_cast<char>(number >> shift & 0xff);
  }
}

void AppendBinaryPacket(const ReplyStyle& style, const BinaryPacket& packet,
                        std::string& out) {
  constexpr char kReplyMagic = '\x81';
  out += kReplyMagic;
  out += static_cast<char>(style.opcode);
  AppendBinaryNumber(packet.key.size(), 2, out);
  AppendBinaryNumber(packet.extras.size(), 1, out);
  AppendBinaryNumber(0, 1, out);  // data type
  AppendBinaryNumber(static_cast<std::uint16_t>(packet.status), 2, out);
  AppendBinaryNumber(
      packet.extras.size() + packet.key.size() + packet.value_bytes, 4, out);
  AppendBinaryNumber(style.opaque_id, 4, out);
  AppendBinaryNumber(packet.cas, 8, out);
  out += packet.extras;
  out += packet.key;
}

void AppendBinaryError(const ReplyStyle& style, BinaryStatus status,
                       std::string_view text, std::string& out) {
  if (text.empty()) text = BinaryStatusText(status);
  AppendBinaryPacket(style, {.status = status, .value_bytes = text.size()},
                     out);
  out += text;
}

}  // namespace ers::proxy
