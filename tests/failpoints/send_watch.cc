// Asks a test before every message that the store sends, over the socket that
// ERS_SEND_WATCH names. It gets the names of all steps first, then for each
// message "STEP VERB SERVER KEY", and answers one byte: '.' to send it; 'h' to
// hold it and all that come after it. Then what was sent before is on its way,
// "held" reports so, and the next answer lets everything go on. Meanwhile the
// process stands still: this is where a test kills.
#include "store/membership/send_watch.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "store/membership/send.h"

namespace ers::store {
namespace {

// As the line begins that the request is sent as.
std::string_view VerbOf(const net::Request& request) {
  switch (request.verb) {
    case net::Verb::kSet:
      return "ms";
    case net::Verb::kCas:
      return "cas";
    case net::Verb::kDelete:
    case net::Verb::kRenew:
      return "md";
    case net::Verb::kStats:
      return "stats";
    case net::Verb::kMetadump:
      return "lru_crawler";
    case net::Verb::kVersion:
      return "version";
    default:
      return "mg";
  }
}

class AskingWatch final : public SendWatch {
 public:
  explicit AskingWatch(const char* path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const auto* to = reinterpret_cast<const sockaddr*>(&address);
    if (connect(socket_, to, sizeof address) != 0) {
      std::perror("ERS_SEND_WATCH");
      std::exit(EXIT_FAILURE);
    }
    std::string names;
    for (const std::string_view name : kSendStepNames) {
      names.append(name).append(" ");
    }
    Ask(names);
    go_on_.run = [](net::Deferred&) { watch->GoOn(); };
    go_on_.late = true;
    watch = this;
  }

  void OnSend(net::Runtime& runtime, SendStep step, net::ServerLink& link,
              net::Request& request) override {
    std::unique_lock lock(mutex_);
    const std::thread::id self = std::this_thread::get_id();
    free_.wait(lock, [&] { return held_.empty() || holder_ == self; });
    if (!held_.empty()) {
      held_.emplace_back(&link, &request);
      return;
    }
    // What waits for company would not be on its way when a later one is held.
    request.lazy = false;
    const std::string_view key =
        request.key.empty() ? std::string_view("-") : request.key;
    std::string line(NameOf(step));
    line.append(" ").append(VerbOf(request)).append(" ");
    line.append(link.endpoint().name()).append(" ").append(key);
    if (Ask(line) != 'h') {
      link.Submit(request);
      return;
    }
    holder_ = self;
    held_.emplace_back(&link, &request);
    runtime.Defer(go_on_);
  }

 private:
  static AskingWatch* watch;

  char Ask(std::string_view line) const {
    char answer = '.';
    if (send(socket_, line.data(), line.size(), MSG_NOSIGNAL) < 0 ||
        recv(socket_, &answer, 1, 0) != 1) {
      return '.';  // the test has ended
    }
    return answer;
  }

  // Behind the writes of all that was sent before.
  void GoOn() {
    const std::lock_guard lock(mutex_);
    Ask("held");
    for (const auto& [link, request] : std::exchange(held_, {})) {
      link->Submit(*request);
    }
    free_.notify_all();
  }

  int socket_ = -1;
  std::mutex mutex_;  // guards what follows, and the socket
  std::condition_variable free_;
  std::thread::id holder_;
  std::vector<std::pair<net::ServerLink*, net::Request*>> held_;
  net::Deferred go_on_;
};

AskingWatch* AskingWatch::watch = nullptr;

// Before main(): threads that send do not exist yet.
const bool installed = [] {
  const char* path = std::getenv("ERS_SEND_WATCH");
  if (path == nullptr) return false;
  static AskingWatch asking(path);
  send_watch = &asking;
  return true;
}();

}  // namespace
}  // namespace ers::store
