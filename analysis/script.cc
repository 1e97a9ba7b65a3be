#include "analysis/script.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace ers::analysis {

Result<std::string> FindFiguresScript() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    return Fail(StatusCode::kNotFound,
                fmt::format("/proc/self/exe: {}", error.message()));
  }
  const auto path = (program.parent_path() / ERS_SCRIPT_DIR / "figures.py")
                        .lexically_normal();
  if (!std::filesystem::exists(path, error)) {
    return Fail(StatusCode::kNotFound,
                fmt::format("{} is missing: install or build ers-analyze again",
                            path.string()));
  }
  return path.string();
}

Status RunProgram(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int spawned =
      posix_spawnp(&pid, argv[0], nullptr, nullptr, argv.data(), environ);
  if (spawned != 0) {
    return {StatusCode::kUnavailable,
            fmt::format("cannot run {}: {}; name a Python 3 by --python",
                        arguments.front(), std::strerror(spawned))};
  }
  int state = 0;
  while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return {};
  return {StatusCode::kUnavailable,
          WIFEXITED(state) ? fmt::format("{} failed with code {}",
                                         arguments.front(), WEXITSTATUS(state))
                           : fmt::format("{} was killed by signal {}",
                                         arguments.front(), WTERMSIG(state))};
}

}  // namespace ers::analysis
