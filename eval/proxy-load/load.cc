// proxy-load: many clients of the text protocol in one thread, which ask as
// soon as they are answered.
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/usage.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<int> ports;  // on this machine; connections go round them
  int connections = 50;
  int depth = 1;  // requests of a connection under way at a time
  std::size_t value_bytes = 100;
  std::uint32_t keys = 10000;
  std::uint32_t set_percent = 10;
  std::uint64_t requests = 100000;
  std::uint64_t seed = 1;
  std::string prefix = "load";  // of every key
  bool fill = false;            // set each key once, and nothing else
  bool apart = false;           // what is set is not what is got
};

struct Totals {
  std::uint64_t asked = 0;
  std::uint64_t answered = 0;
  std::uint64_t misses = 0;
  std::uint64_t errors = 0;
  std::string first_error;
  std::vector<std::uint32_t> batch_us;
};

[[noreturn]] void Fail(const char* what) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

int Connect(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
    Fail("connect");
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

// Sends `depth` requests in one write, and the next when all are answered.
class Client {
 public:
  Client(const Options& options, Totals& totals, int port)
      : options_(options),
        totals_(totals),
        fd_(Connect(port)),
        value_(options.value_bytes, 'x') {}
  ~Client() { close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  int fd() const { return fd_; }

  // False: nothing is left to ask.
  bool Ask(std::mt19937_64& random) {
    std::string batch;
    for (int i = 0; i < options_.depth; ++i) {
      if (totals_.asked == options_.requests) break;
      const auto key = static_cast<std::uint32_t>(
          options_.fill ? totals_.asked : random() % options_.keys);
      ++totals_.asked;
      ++waiting_;
      if (options_.fill || random() % 100 < options_.set_percent) {
        fmt::format_to(std::back_inserter(batch), "set {}{}{} 0 0 {}\r\n{}\r\n",
                       options_.prefix, options_.apart ? "-set" : "", key,
                       value_.size(), value_);
      } else {
        fmt::format_to(std::back_inserter(batch), "get {}{}\r\n",
                       options_.prefix, key);
      }
    }
    begun_ = Clock::now();
    for (std::string_view rest = batch; !rest.empty();) {
      const ssize_t sent = send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent < 0) Fail("send");
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    return waiting_ > 0;
  }

  // True: all that was asked has been answered.
  bool Read() {
    std::array<char, 65536> buffer;
    const ssize_t got = recv(fd_, buffer.data(), buffer.size(), 0);
    if (got <= 0) throw std::runtime_error("the server has gone");
    input_.append(buffer.data(), static_cast<std::size_t>(got));
    std::size_t used = 0;
    while (waiting_ > 0) {
      const std::size_t length = Answer(std::string_view(input_).substr(used));
      if (length == 0) break;
      used += length;
      --waiting_;
      ++totals_.answered;
    }
    input_.erase(0, used);
    if (waiting_ > 0) return false;
    const auto took = Clock::now() - begun_;
    totals_.batch_us.push_back(static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
    return true;
  }

 private:
  // Bytes of the first answer in `input`; 0: it is not whole yet.
  std::size_t Answer(std::string_view input) {
    constexpr std::string_view kLine = "\r\n";
    constexpr std::string_view kValueEnd = "\r\nEND\r\n";
    const std::size_t end = input.find(kLine);
    if (end == std::string_view::npos) return 0;
    const std::string_view line = input.substr(0, end);
    std::size_t length = end + kLine.size();
    if (line.starts_with("VALUE ")) {
      if (!line.ends_with(fmt::format(" {}", value_.size())))
        throw std::runtime_error(fmt::format("another value: {}", line));
      length += value_.size() + kValueEnd.size();
      if (input.size() < length) return 0;
      if (!input.substr(0, length).ends_with(kValueEnd)) ++totals_.errors;
    } else if (line == "END") {
      ++totals_.misses;
    } else if (line != "STORED") {
      if (totals_.errors++ == 0) totals_.first_error = line;
    }
    return length;
  }

  const Options& options_;
  Totals& totals_;
  const int fd_;
  const std::string value_;
  std::string input_;
  int waiting_ = 0;
  Clock::time_point begun_;
};

void Run(const Options& options) {
  Totals totals;
  std::mt19937_64 random(options.seed);
  std::vector<std::unique_ptr<Client>> clients;
  const int poll = epoll_create1(EPOLL_CLOEXEC);
  for (int i = 0; i < options.connections; ++i) {
    const auto at = static_cast<std::size_t>(i) % options.ports.size();
    clients.push_back(
        std::make_unique<Client>(options, totals, options.ports[at]));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = clients.back().get();
    epoll_ctl(poll, EPOLL_CTL_ADD, clients.back()->fd(), &event);
  }
  const auto begun = Clock::now();
  for (const auto& client : clients) client->Ask(random);
  while (totals.answered < options.requests) {
    std::array<epoll_event, 64> events;
    const int count = epoll_wait(poll, events.data(), events.size(), 60000);
    if (count == 0)
      throw std::runtime_error(
          fmt::format("no answer for a minute, after {}", totals.answered));
    for (int i = 0; i < count; ++i) {
      auto& client =
          *static_cast<Client*>(events[static_cast<size_t>(i)].data.ptr);
      if (client.Read()) client.Ask(random);
    }
  }
  if (totals.errors > 0) {
    fmt::print(stderr, "proxy-load: {} errors, the first: {}\n", totals.errors,
               totals.first_error);
  }
  const std::chrono::duration<double> took = Clock::now() - begun;
  close(poll);
  std::sort(totals.batch_us.begin(), totals.batch_us.end());
  const auto quantile = [&totals](double share) {
    const auto count = static_cast<double>(totals.batch_us.size() - 1);
    return totals.batch_us[static_cast<std::size_t>(count * share)];
  };
  fmt::print(
      "{{\"requests\":{},\"seconds\":{:.3f},\"requests_per_s\":{:.0f},"
      "\"batch_p50_us\":{},\"batch_p99_us\":{},\"misses\":{},\"errors\":{}}}\n",
      totals.answered, took.count(),
      static_cast<double>(totals.answered) / took.count(), quantile(0.5),
      quantile(0.99), totals.misses, totals.errors);
}

int Main(int argc, char** argv) {
  CLI::App app("Loads memcached servers or proxies on this machine.",
               "proxy-load");
  app.set_version_flag("--version", "proxy-load " ERS_VERSION);
  Options options;
  app.add_option("--ports", options.ports, "Of 127.0.0.1, shared evenly")
      ->delimiter(',')
      ->required();
  app.add_option("--connections", options.connections)
      ->check(CLI::Range(1, 10000));
  app.add_option("--depth", options.depth, "Requests under way of each")
      ->check(CLI::Range(1, 1000));
  app.add_option("--value-bytes", options.value_bytes)
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--keys", options.keys)->check(CLI::Range(1, 10'000'000));
  app.add_option("--set-percent", options.set_percent)
      ->check(CLI::Range(0, 100));
  app.add_option("--requests", options.requests)
      ->check(CLI::Range(1, 1'000'000'000));
  app.add_option("--seed", options.seed);
  app.add_option("--prefix", options.prefix, "Of every key");
  app.add_flag("--apart", options.apart,
               "Set other keys than are got: an overwrite of a long value "
               "cuts off a client that reads it");
  app.add_flag("--fill", options.fill, "Set each key once, instead");
  const std::optional<int> ended = ers::cli::Parse(app, argc, argv);
  if (ended) return *ended;
  if (options.fill) options.requests = options.keys;
  try {
    Run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "proxy-load: {}\n", error.what());
    return 3;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return Main(argc, argv); }
