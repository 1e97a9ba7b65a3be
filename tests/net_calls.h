// Small words for tests of net: a request that remembers its end, and waiting.
#ifndef TESTS_NET_CALLS_H_
#define TESTS_NET_CALLS_H_

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "net/request.h"
#include "net/runtime.h"
#include "net/server_link.h"

namespace ers::test {

// A Request with what it points to. Not movable: the link holds its address.
struct Call : net::Request {
  explicit Call(net::Verb what, std::string name = "")
      : name_(std::move(name)) {
    verb = what;
    key = name_;
    done = [](Request& request) {
      auto& call = static_cast<Call&>(request);
      ++call.ends;
      if (call.order != nullptr) call.order->push_back(&call);
    };
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Call& Body(std::string bytes) {
    body_ = std::move(bytes);
    body_piece_ = {body_.data(), body_.size()};
    body = std::span(&body_piece_, 1);
    return *this;
  }
  // Asks for the value in pieces of these sizes; Into() is what came.
  Call& Pieces(const std::vector<std::size_t>& sizes) {
    std::size_t total = 0;
    for (const std::size_t size : sizes) total += size;
    into_.assign(total, '.');
    into_pieces_.clear();
    std::size_t offset = 0;
    for (const std::size_t size : sizes) {
      into_pieces_.push_back({into_.data() + offset, size});
      offset += size;
    }
    into = into_pieces_;
    return *this;
  }
  const std::string& Into() const { return into_; }

  int ends = 0;
  std::vector<Call*>* order = nullptr;

 private:
  std::string name_;
  std::string body_;
  iovec body_piece_{};
  std::string into_;
  std::vector<iovec> into_pieces_;
};

// Runs the loop until `condition`; false if it is not met in time.
inline bool RunUntil(net::Runtime& runtime,
                     const std::function<bool()>& condition,
                     net::Duration limit = std::chrono::seconds(20)) {
  bool late = false;
  const auto timer = runtime.NewTimer([&late] { late = true; });
  timer->Start(limit);
  runtime.RunUntil([&] { return late || condition(); });
  return condition();
}

// Submits and waits for the end.
inline net::Outcome Do(net::Runtime& runtime, net::ServerLink& link,
                       Call& call) {
  const int before = call.ends;
  link.Submit(call);
  RunUntil(runtime, [&] { return call.ends > before; });
  return call.ends == before + 1 ? call.outcome : net::Outcome::kPending;
}

}  // namespace ers::test

#endif  // TESTS_NET_CALLS_H_
