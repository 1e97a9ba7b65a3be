#include "sim/world/real_memcached.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace ers::sim {
namespace {

constexpr std::chrono::seconds kStartLimit{10};

int Milliseconds(std::chrono::milliseconds time) {
  return static_cast<int>(time.count());
}

}  // namespace

RealMemcached::RealMemcached(const std::vector<std::string>& arguments) {
  // mkdtemp fills in the Xs.
  std::string pattern = "/tmp/ers-model-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    error_ = "cannot make a folder under /tmp";
    return;
  }
  folder_ = pattern;
  std::vector<std::string> words = {"memcached", "-s", folder_ + "/socket",
                                    "-t", "1"};
  if (geteuid() == 0) words.insert(words.end(), {"-u", "root"});
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    execvp(argv[0], argv.data());
    _exit(127);
  }
  const auto end = std::chrono::steady_clock::now() + kStartLimit;
  while (std::chrono::steady_clock::now() < end) {
    if (Connect()) return;
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      error_ = "memcached ended at once: is it installed?";
      return;
    }
    poll(nullptr, 0, 5);  // between two tries of a condition with a deadline
  }
  error_ = "memcached does not listen";
}

RealMemcached::~RealMemcached() {
  if (socket_ >= 0) close(socket_);
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (!folder_.empty()) {
    unlink((folder_ + "/socket").c_str());
    rmdir(folder_.c_str());
  }
}

bool RealMemcached::Connect() {
  socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder_ + "/socket";
  std::copy(path.begin(), path.end(), address.sun_path);
  const void* raw = &address;
  if (connect(socket_, static_cast<const sockaddr*>(raw), sizeof(address)) ==
      0) {
    return true;
  }
  close(socket_);
  socket_ = -1;
  return false;
}

std::string RealMemcached::Ask(std::string_view bytes, std::size_t reply_bytes,
                               std::chrono::milliseconds patience) {
  std::string reply;
  std::array<char, 65536> piece{};
  while (!bytes.empty() || reply.size() < reply_bytes) {
    pollfd state{socket_,
                 static_cast<short>(bytes.empty() ? POLLIN : POLLIN | POLLOUT),
                 0};
    if (poll(&state, 1, Milliseconds(patience)) <= 0) break;
    if ((state.revents & POLLOUT) != 0) {
      const ssize_t sent = send(socket_, bytes.data(), bytes.size(),
                                MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN) break;
      if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    if ((state.revents & (POLLIN | POLLHUP)) != 0) {
      const ssize_t got =
          recv(socket_, piece.data(), piece.size(), MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN)) break;
      if (got > 0) reply.append(piece.data(), static_cast<std::size_t>(got));
    }
  }
  return reply;
}

}  // namespace ers::sim
