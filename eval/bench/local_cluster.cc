#include "bench/local_cluster.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

namespace ers::bench {
namespace {

constexpr std::chrono::seconds kStartLimit{10};
constexpr std::chrono::milliseconds kPollInterval{2};

// A directory of our own that is removed with everything in it.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::error_code error;
    // mkdtemp fills in the Xs.
    std::string name =
        std::filesystem::temp_directory_path(error) / "ers-bench-XXXXXX";
    if (!error && mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() {
    std::error_code error;  // a leftover in /tmp does no harm
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  // Empty: it could not be made.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::vector<std::string> Arguments(const std::string& program) {
  std::vector<std::string> arguments = {program, "-l", "127.0.0.1", "-p", "-1",
                                        "-U",    "0",  "-t",        "1",  "-I",
                                        "8m",    "-m", "1024"};
  // memcached refuses to run as root unless it is given a user.
  if (geteuid() == 0) {
    const passwd* user = getpwuid(0);
    arguments.insert(arguments.end(),
                     {"-u", user != nullptr ? user->pw_name : "root"});
  }
  return arguments;
}

// The child's side of fork: async-signal-safe calls only.
[[noreturn]] void BecomeServer(char* const* argv, char* const* environment,
                               pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  // The benchmark's handlers do not outlive exec, but its mask does.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvpe(argv[0], argv, environment);
  _exit(127);
}

Result<pid_t> Launch(const std::string& program,
                     const std::filesystem::path& port_file) {
  const std::vector<std::string> arguments = Arguments(program);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  // memcached writes the ports that it got to this file.
  std::string port_variable = "MEMCACHED_PORT_FILENAME=" + port_file.string();
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    environment.push_back(*variable);
  }
  environment.push_back(port_variable.data());
  environment.push_back(nullptr);

  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) BecomeServer(argv.data(), environment.data(), parent);
  if (pid < 0) {
    return Fail(StatusCode::kUnavailable,
                fmt::format("fork: {}", std::strerror(errno)));
  }
  return pid;
}

// 0: not there yet.
int ReadPort(const std::filesystem::path& port_file) {
  std::ifstream file(port_file);
  std::string word;
  while (file >> word) {
    // "TCP INET: 12345"
    if (word == "INET:") {
      int port = 0;
      file >> port;
      return port;
    }
  }
  return 0;
}

// The file appears, whole, once the server listens.
Result<int> AwaitPort(const std::string& program, pid_t pid,
                      const std::filesystem::path& port_file, bool* ended) {
  const auto deadline = std::chrono::steady_clock::now() + kStartLimit;
  while (std::chrono::steady_clock::now() < deadline) {
    const int port = ReadPort(port_file);
    if (port != 0) return port;
    int state = 0;
    if (waitpid(pid, &state, WNOHANG) == pid) {
      *ended = true;
      return Fail(StatusCode::kUnavailable,
                  fmt::format("{} did not start: install the package "
                              "memcached, or name the program by --memcached",
                              program));
    }
    // A file that appears causes no event: try again soon.
    std::this_thread::sleep_for(kPollInterval);
  }
  return Fail(StatusCode::kUnavailable,
              fmt::format("{} (pid {}) does not listen after {} s", program,
                          pid, kStartLimit.count()));
}

}  // namespace

LocalCluster::LocalCluster(LocalCluster&& other) noexcept
    : pids_(std::exchange(other.pids_, {})),
      ports_(std::exchange(other.ports_, {})) {}

LocalCluster& LocalCluster::operator=(LocalCluster&& other) noexcept {
  if (this != &other) {
    Stop();
    pids_ = std::exchange(other.pids_, {});
    ports_ = std::exchange(other.ports_, {});
  }
  return *this;
}

LocalCluster::~LocalCluster() { Stop(); }

void LocalCluster::Stop() {
  // Nothing in them is worth a clean end.
  for (const pid_t pid : pids_) kill(pid, SIGKILL);
  for (const pid_t pid : pids_) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  pids_.clear();
  ports_.clear();
}

Result<LocalCluster> LocalCluster::Start(const std::string& program,
                                         int count) {
  const ScratchDirectory scratch;
  if (scratch.path().empty()) {
    return Fail(StatusCode::kUnavailable,
                "cannot make a temporary directory: set TMPDIR to one that "
                "can be written");
  }
  LocalCluster cluster;
  for (int i = 0; i < count; ++i) {
    const auto port_file = scratch.path() / std::to_string(i);
    const auto pid = Launch(program, port_file);
    if (!pid.has_value()) return Fail(pid.error());
    cluster.pids_.push_back(*pid);
  }
  for (int i = 0; i < count; ++i) {
    bool ended = false;
    const auto at = cluster.pids_.begin() + i;
    const auto port =
        AwaitPort(program, *at, scratch.path() / std::to_string(i), &ended);
    if (ended) cluster.pids_.erase(at);  // reaped: the pid may be another's
    if (!port.has_value()) return Fail(port.error());
    cluster.ports_.push_back(*port);
  }
  return cluster;
}

std::string LocalCluster::servers() const {
  std::string text;
  for (const int port : ports_) {
    text += fmt::format("{}127.0.0.1:{}", text.empty() ? "" : ",", port);
  }
  return text;
}

}  // namespace ers::bench
