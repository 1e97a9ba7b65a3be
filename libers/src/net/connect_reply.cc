#include "net/connect_reply.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "net/number.h"

namespace ers::net {
namespace {

constexpr std::string_view kProtocol = "HTTP/1.";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kLength = "content-length:";
constexpr std::string_view kShortest = "HTTP/1.1 200\r\n\r\n";
constexpr std::size_t kMaxHead = 8 << 10;
// A longer one is not waited for: the code says enough.
constexpr std::size_t kMaxBody = 8 << 10;
constexpr std::size_t kCodeAt = 9;
constexpr std::size_t kCodeDigits = 3;
constexpr std::size_t kMaxWhy = 400;

// How much of its end a head has.
std::size_t EndedBy(std::string_view head) {
  for (std::size_t i = kHeadEnd.size(); i > 0; --i) {
    if (head.ends_with(kHeadEnd.substr(0, i))) return i;
  }
  return 0;
}

// 0 where none is said.
std::size_t LengthOf(std::string_view head) {
  for (std::size_t at = head.find(kLineEnd); at != head.npos;
       at = head.find(kLineEnd, at + 1)) {
    std::string_view line = head.substr(at + kLineEnd.size());
    line = line.substr(0, line.find(kLineEnd));
    if (line.size() < kLength.size() ||
        strncasecmp(line.data(), kLength.data(), kLength.size()) != 0) {
      continue;
    }
    line.remove_prefix(kLength.size());
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    std::size_t length = 0;
    return ParseNumber(line, &length) ? length : 0;
  }
  return 0;
}

// {"error": "..."}; empty where it is anything else.
std::string ErrorOf(const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("error") ||
      !json["error"].is_string()) {
    return {};
  }
  return json["error"].get<std::string>();
}

std::string Printable(std::string text) {
  text.resize(std::min(text.size(), kMaxWhy));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

}  // namespace

std::size_t ConnectReply::wanted() const {
  if (state_ == State::kBody) return body_bytes_ - body_.size();
  if (state_ != State::kHead) return 0;
  const std::size_t to_shortest =
      kShortest.size() - std::min(head_.size(), kShortest.size());
  return std::max(to_shortest, kHeadEnd.size() - EndedBy(head_));
}

void ConnectReply::Take(std::string_view bytes) {
  if (state_ == State::kBody) {
    body_ += bytes;
    if (body_.size() >= body_bytes_) Refuse();
  } else if (state_ == State::kHead) {
    head_ += bytes;
    const std::string_view begin =
        std::string_view(head_).substr(0, kProtocol.size());
    if (!kProtocol.starts_with(begin)) return Break("it does not speak HTTP");
    if (head_.ends_with(kHeadEnd)) return OnHead();
    if (head_.size() > kMaxHead) Break("the head of its answer has no end");
  }
}

void ConnectReply::OnHead() {
  const std::string_view digits =
      std::string_view(head_).substr(kCodeAt, kCodeDigits);
  if (head_[kCodeAt - 1] != ' ' || !ParseNumber(digits, &code_) ||
      code_ < 100) {
    return Break("it does not speak HTTP");
  }
  if (code_ / 100 == 2) {
    state_ = State::kOpen;
    return;
  }
  body_bytes_ = LengthOf(head_);
  if (body_bytes_ == 0 || body_bytes_ > kMaxBody) return Refuse();
  state_ = State::kBody;
}

void ConnectReply::End() {
  if (state_ == State::kBody) Refuse();
  if (state_ == State::kHead) {
    Break("it closed the connection without an answer");
  }
}

void ConnectReply::Refuse() {
  state_ = State::kRefused;
  why_ = ErrorOf(body_);
  if (why_.empty()) {
    // The words behind the code.
    why_ =
        "HTTP status " + head_.substr(kCodeAt, head_.find(kLineEnd) - kCodeAt);
  }
  why_ = Printable(std::move(why_));
}

void ConnectReply::Break(std::string why) {
  state_ = State::kBroken;
  why_ = std::move(why);
}

}  // namespace ers::net
