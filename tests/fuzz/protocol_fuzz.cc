// Any bytes, cut anywhere: the reader says the same, stays within its bounds,
// and the reply writers answer every request that it lets through.
//
// The first byte of an input seeds the cuts; the others are the stream.
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "fuzz/require.h"
#include "protocol/reply.h"
#include "protocol/request_reader.h"

namespace ers::proxy {
namespace {

using fuzz::Require;

void CheckRequest(const ClientRequest& request) {
  Require(request.key.size() <= kMaxKeyBytes, "a key has its limit");
  Require(request.style.opaque.size() < 32, "an opaque token has its limit");
  switch (request.operation) {
    case Operation::kGet:
    case Operation::kStore:
    case Operation::kDelete:
    case Operation::kArithmetic:
    case Operation::kTouch:
    case Operation::kDebug:
    case Operation::kTransition:
    case Operation::kUpdate:
    case Operation::kInspect:
      Require(!request.key.empty(), "a command on a key has one");
      break;
    default:
      break;
  }
  for (int outcome = 0; outcome <= static_cast<int>(ReplyStatus::kServerError);
       ++outcome) {
    const Reply reply{.outcome = static_cast<ReplyStatus>(outcome),
                      .text = "words\r\nand words"};
    std::string out;
    AppendReply(request, reply, out);
    const bool text = request.style.dialect != Dialect::kBinary;
    Require(out.empty() || !text || out.ends_with("\r\n"),
            "a reply is complete");
  }
  if (request.operation == Operation::kGet && request.want_value) {
    std::string out;
    AppendValueHeader(request, {}, out);
    Require(!out.empty(), "a hit has a header");
  }
}

// What the reader makes of the stream. Parts of a value count as one.
class Listener {
 public:
  void Feed(std::string_view input) {
    const std::string_view all = input;
    while (true) {
      const RequestReader::Event event = reader_.Next(input);
      switch (event) {
        case RequestReader::Event::kNeedInput:
          Require(input.empty(), "all input is taken");
          return;
        case RequestReader::Event::kClose:
          Require(input.empty(), "nothing is taken after the end");
          heard_ += closed_ ? "" : "close ";
          closed_ = true;
          return;
        case RequestReader::Event::kRequest:
          OnRequest(reader_.request());
          break;
        case RequestReader::Event::kValue:
          Require(reader_.value().data() >= all.data() &&
                      reader_.value().data() + reader_.value().size() ==
                          input.data(),
                  "a value is a part of the input");
          value_bytes_ += reader_.value().size();
          heard_ += reader_.value();
          break;
        case RequestReader::Event::kValueEnd:
        case RequestReader::Event::kValueBad:
          Require(value_bytes_ == expected_, "a value has the length it said");
          heard_ += event == RequestReader::Event::kValueEnd ? "end " : "bad ";
          break;
        case RequestReader::Event::kError:
          heard_ += reader_.error();
          break;
      }
    }
  }

  const std::string& heard() const { return heard_; }

 private:
  void OnRequest(const ClientRequest& request) {
    CheckRequest(request);
    value_bytes_ = 0;
    expected_ = request.value_bytes;
    heard_ += std::to_string(static_cast<int>(request.operation));
    for (const std::string& part :
         {request.key, request.argument, request.style.return_flags,
          request.style.opaque, std::to_string(request.value_bytes)}) {
      heard_ += part;
      heard_ += ' ';
    }
  }

  RequestReader reader_{Limits{.max_value_bytes = 5000}};
  std::string heard_;
  std::uint64_t value_bytes_ = 0;
  std::uint64_t expected_ = 0;
  bool closed_ = false;
};

}  // namespace
}  // namespace ers::proxy

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1),
                               size - 1);
  ers::proxy::Listener whole;
  whole.Feed(bytes);
  ers::proxy::Listener pieces;
  std::minstd_rand random(data[0] + 1U);
  // Small ones and large ones.
  constexpr std::array<std::size_t, 4> kSizes = {1, 3, 40, 3000};
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t most = kSizes[random() % kSizes.size()];
    // In memory of its own, so that a read beyond it shows.
    const std::string piece(bytes.substr(at, 1 + random() % most));
    pieces.Feed(piece);
    at += piece.size();
  }
  ers::fuzz::Require(whole.heard() == pieces.heard(),
                     "where the bytes are cut makes no difference");
  return 0;
}
