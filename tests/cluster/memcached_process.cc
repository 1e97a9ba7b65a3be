#include "cluster/memcached_process.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

namespace ers::test {
namespace {

constexpr auto kStartTimeout = std::chrono::seconds(60);
constexpr auto kPollInterval = std::chrono::milliseconds(2);
constexpr int kStartTries = 20;

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A socket that keeps a free port from every process but one that names it and
// listens there, as memcached does; also while that is dead.
int HoldPort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  sockaddr_in address = Loopback(0);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(fd, any, sizeof address) != 0) {
    throw std::runtime_error("no free loopback port");
  }
  return fd;
}

int PortOf(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("getsockname failed");
  }
  return ntohs(address.sin_port);
}

}  // namespace

MemcachedProcess::MemcachedProcess(std::vector<std::string> arguments,
                                   Listen listen)
    : arguments_(std::move(arguments)) {
  if (listen == Listen::kUnix) {
    // mkdtemp fills in the Xs.
    char folder[] = "/tmp/memcached-test-XXXXXX";
    if (mkdtemp(folder) == nullptr) throw std::runtime_error("mkdtemp failed");
    folder_ = folder;
    endpoint_.path = folder_ + "/socket";
    Start();
    return;
  }
  endpoint_.host = "127.0.0.1";
  held_ = HoldPort();
  endpoint_.port = PortOf(held_);
  Start();
}

MemcachedProcess::~MemcachedProcess() {
  Kill();
  if (held_ >= 0) close(held_);
  if (!folder_.empty()) {
    unlink(endpoint_.path.c_str());
    rmdir(folder_.c_str());
  }
}

MemcachedProcess::MemcachedProcess(MemcachedProcess&& other) noexcept
    : arguments_(std::move(other.arguments_)),
      endpoint_(std::move(other.endpoint_)),
      folder_(std::exchange(other.folder_, {})),
      held_(std::exchange(other.held_, -1)),
      pid_(std::exchange(other.pid_, -1)) {}

void MemcachedProcess::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void MemcachedProcess::Restart() {
  Kill();
  Start();
}

void MemcachedProcess::Pause() {
  kill(pid_, SIGSTOP);
  int status = 0;
  waitpid(pid_, &status, WUNTRACED);
}

void MemcachedProcess::Resume() { kill(pid_, SIGCONT); }

void MemcachedProcess::Start() {
  for (int i = 0; i < kStartTries; ++i) {
    if (TryStart()) return;
    // The port is another process's just now, and no event says when it is
    // free.
    std::this_thread::sleep_for(kPollInterval);
  }
  throw std::runtime_error("memcached does not start at " + endpoint_.name());
}

bool MemcachedProcess::TryStart() {
  std::vector<std::string> words = {"memcached", "-u", "root", "-U", "0"};
  if (endpoint_.is_unix()) {
    words.insert(words.end(), {"-s", endpoint_.path});
  } else {
    words.insert(words.end(),
                 {"-l", endpoint_.host, "-p", std::to_string(endpoint_.port)});
  }
  words.insert(words.end(), arguments_.begin(), arguments_.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ == 0) {
    execvp(argv[0], argv.data());
    _exit(127);
  }
  const auto deadline = std::chrono::steady_clock::now() + kStartTimeout;
  while (std::chrono::steady_clock::now() < deadline) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        throw std::runtime_error("memcached is not installed");
      }
      return false;  // the port was taken
    }
    const int fd = Connect();
    if (fd >= 0) {
      close(fd);
      // A process that took the port answers too: ours must still be alive.
      if (Ask("stats\r\n", "END")
              .find("STAT pid " + std::to_string(pid_) + "\r\n") !=
          std::string::npos) {
        return true;
      }
    }
    // No event says when it begins to listen: ask again soon.
    std::this_thread::sleep_for(kPollInterval);
  }
  Kill();
  return false;
}

int MemcachedProcess::Connect() const {
  const int family = endpoint_.is_unix() ? AF_UNIX : AF_INET;
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int result = -1;
  if (endpoint_.is_unix()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, endpoint_.path.c_str(),
                 sizeof address.sun_path - 1);
    result = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  } else {
    sockaddr_in address = Loopback(endpoint_.port);
    result = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  if (result == 0) return fd;
  close(fd);
  return -1;
}

std::string MemcachedProcess::Ask(const std::string& text,
                                  const std::string& last) const {
  const int fd = Connect();
  if (fd < 0) return "";
  const timeval limit{60, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::string answer;
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t moved =
        send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (moved <= 0) break;
    sent += static_cast<std::size_t>(moved);
  }
  const std::string end = last + "\r\n";
  const auto complete = [&] {
    return answer.ends_with(end) &&
           (last.empty() || answer.size() == end.size() ||
            answer[answer.size() - end.size() - 1] == '\n');
  };
  while (!complete()) {
    char buffer[4096];
    const ssize_t moved = recv(fd, buffer, sizeof buffer, 0);
    // This process was stopped, and goes on.
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) break;
    answer.append(buffer, static_cast<std::size_t>(moved));
  }
  close(fd);
  return answer;
}

}  // namespace ers::test
