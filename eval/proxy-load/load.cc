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
#include <deque>
#include <limits>
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
  double seconds = 0;           // 0: until `requests` are answered
  double skip_s = 0;            // times of what is asked earlier do not count
  std::vector<std::string> names;  // whole keys, in place of numbered ones
};

// Requests of one kind.
struct Kind {
  std::vector<std::uint32_t> us;  // of each that counts
  std::uint64_t errors = 0;
};

struct Totals {
  std::uint64_t asked = 0;
  std::uint64_t answered = 0;
  std::uint64_t misses = 0;
  std::string first_error;
  std::vector<std::uint32_t> batch_us;
  Kind get, set;
  Clock::time_point count_from;
  Clock::time_point ask_until = Clock::time_point::max();
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
  fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
}

std::uint32_t MicrosSince(Clock::time_point begun) {
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() -
                                                            begun)
          .count());
}

// Sends `depth` requests at once, and the next when all are answered.
class Client {
 public:
  Client(const Options& options, Totals& totals, int port, int poll)
      : options_(options),
        totals_(totals),
        fd_(Connect(port)),
        poll_(poll),
        value_(options.value_bytes, 'x') {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = this;
    epoll_ctl(poll_, EPOLL_CTL_ADD, fd_, &event);
  }
  ~Client() { close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // False: nothing is left to ask.
  bool Ask(std::mt19937_64& random) {
    output_.clear();
    written_ = 0;
    begun_ = Clock::now();
    if (begun_ >= totals_.ask_until) return false;
    for (int i = 0; i < options_.depth; ++i) {
      if (totals_.asked == options_.requests) break;
      AskOne(random);
    }
    Write();
    return !waiting_.empty();
  }

  // As much as the connection takes.
  void Write() {
    while (written_ < output_.size()) {
      const ssize_t sent = send(fd_, output_.data() + written_,
                                output_.size() - written_, MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN) return WantWrite(true);
      if (sent < 0) Fail("send");
      written_ += static_cast<std::size_t>(sent);
    }
    WantWrite(false);
  }

  // True: all that was asked has been answered.
  bool Read() {
    std::array<char, 65536> buffer;
    const ssize_t got = recv(fd_, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EAGAIN) return false;
    if (got <= 0) throw std::runtime_error("the server has gone");
    input_.append(buffer.data(), static_cast<std::size_t>(got));
    std::size_t used = 0;
    const std::uint32_t took = MicrosSince(begun_);
    const bool counts = begun_ >= totals_.count_from;
    while (!waiting_.empty()) {
      const std::size_t length = Answer(std::string_view(input_).substr(used));
      if (length == 0) break;
      used += length;
      if (counts) waiting_.front()->us.push_back(took);
      waiting_.pop_front();
      ++totals_.answered;
    }
    input_.erase(0, used);
    if (!waiting_.empty()) return false;
    if (counts) totals_.batch_us.push_back(took);
    return true;
  }

 private:
  void AskOne(std::mt19937_64& random) {
    const auto number =
        options_.fill
            ? totals_.asked
            : random() % (options_.names.empty() ? options_.keys
                                                 : options_.names.size());
    ++totals_.asked;
    const bool set = options_.fill || random() % 100 < options_.set_percent;
    waiting_.push_back(set ? &totals_.set : &totals_.get);
    const std::string_view apart = set && options_.apart ? "-set" : "";
    const std::string key =
        options_.names.empty()
            ? fmt::format("{}{}{}", options_.prefix, apart, number)
            : options_.names[number] + std::string(apart);
    if (set) {
      fmt::format_to(std::back_inserter(output_), "set {} 0 0 {}\r\n{}\r\n",
                     key, value_.size(), value_);
    } else {
      fmt::format_to(std::back_inserter(output_), "get {}\r\n", key);
    }
  }

  void WantWrite(bool want) {
    if (want == wants_write_) return;
    wants_write_ = want;
    epoll_event event{};
    event.events = want ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.ptr = this;
    epoll_ctl(poll_, EPOLL_CTL_MOD, fd_, &event);
  }

  void Refused(std::string_view line) {
    ++waiting_.front()->errors;
    if (totals_.first_error.empty()) totals_.first_error = line;
  }

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
      if (!input.substr(0, length).ends_with(kValueEnd)) Refused(line);
    } else if (line == "END") {
      ++totals_.misses;
    } else if (line != "STORED") {
      Refused(line);
    }
    return length;
  }

  const Options& options_;
  Totals& totals_;
  const int fd_;
  const int poll_;
  const std::string value_;
  std::string input_;
  std::string output_;
  std::size_t written_ = 0;  // of output_
  bool wants_write_ = false;
  std::deque<Kind*> waiting_;  // for an answer
  Clock::time_point begun_;
};

std::uint32_t Quantile(const std::vector<std::uint32_t>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(last * share)];
}

std::string KindText(Kind& kind) {
  std::sort(kind.us.begin(), kind.us.end());
  return fmt::format(
      "{{\"count\":{},\"p50_us\":{},\"p99_us\":{},\"p999_us\":{},"
      "\"max_us\":{},\"errors\":{}}}",
      kind.us.size(), Quantile(kind.us, 0.5), Quantile(kind.us, 0.99),
      Quantile(kind.us, 0.999), Quantile(kind.us, 1), kind.errors);
}

void Report(Totals& totals, double seconds) {
  const std::uint64_t errors = totals.get.errors + totals.set.errors;
  if (errors > 0) {
    fmt::print(stderr, "proxy-load: {} errors, the first: {}\n", errors,
               totals.first_error);
  }
  std::sort(totals.batch_us.begin(), totals.batch_us.end());
  fmt::print(
      "{{\"requests\":{},\"seconds\":{:.3f},\"requests_per_s\":{:.0f},"
      "\"batch_p50_us\":{},\"batch_p99_us\":{},\"misses\":{},\"errors\":{},"
      "\"get\":{},\"set\":{}}}\n",
      totals.answered, seconds, static_cast<double>(totals.answered) / seconds,
      Quantile(totals.batch_us, 0.5), Quantile(totals.batch_us, 0.99),
      totals.misses, errors, KindText(totals.get), KindText(totals.set));
}

Clock::duration InSeconds(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(seconds));
}

void Run(const Options& options) {
  Totals totals;
  std::mt19937_64 random(options.seed);
  std::vector<std::unique_ptr<Client>> clients;
  const int poll = epoll_create1(EPOLL_CLOEXEC);
  for (int i = 0; i < options.connections; ++i) {
    const auto at = static_cast<std::size_t>(i) % options.ports.size();
    clients.push_back(
        std::make_unique<Client>(options, totals, options.ports[at], poll));
  }
  const auto begun = Clock::now();
  totals.count_from = begun + InSeconds(options.skip_s);
  if (options.seconds > 0)
    totals.ask_until = begun + InSeconds(options.seconds);
  std::size_t busy = 0;
  for (const auto& client : clients) busy += client->Ask(random) ? 1 : 0;
  while (busy > 0) {
    std::array<epoll_event, 64> events;
    const int count = epoll_wait(poll, events.data(), events.size(), 60000);
    if (count == 0)
      throw std::runtime_error(
          fmt::format("no answer for a minute, after {}", totals.answered));
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      auto& client = *static_cast<Client*>(event.data.ptr);
      if ((event.events & EPOLLOUT) != 0) client.Write();
      if ((event.events & ~EPOLLOUT) == 0 || !client.Read()) continue;
      if (!client.Ask(random)) --busy;
    }
  }
  const std::chrono::duration<double> took = Clock::now() - begun;
  clients.clear();
  close(poll);
  Report(totals, took.count());
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
  app.add_option("--seconds", options.seconds,
                 "Ask for so long, in place of --requests")
      ->check(CLI::Range(0.0, 86400.0));
  app.add_option("--skip-s", options.skip_s,
                 "Times of what is asked in the first seconds do not count");
  app.add_option("--names", options.names,
                 "Keys, in place of numbered ones behind a prefix")
      ->delimiter(',');
  app.add_option("--seed", options.seed);
  app.add_option("--prefix", options.prefix, "Of every key");
  app.add_flag("--apart", options.apart,
               "Set other keys than are got: an overwrite of a long value "
               "cuts off a client that reads it");
  app.add_flag("--fill", options.fill, "Set each key once, instead");
  const std::optional<int> ended = ers::cli::Parse(app, argc, argv);
  if (ended) return *ended;
  if (!options.names.empty()) {
    options.keys = static_cast<std::uint32_t>(options.names.size());
  }
  if (options.fill) {
    options.requests = options.keys;
  } else if (options.seconds > 0) {
    options.requests = std::numeric_limits<std::uint64_t>::max();
  }
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
