#include "config/state_dir.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace ers::proxy {
namespace {

namespace fs = std::filesystem;

Status RefuseFolder(const std::string& folder, std::string_view why) {
  return {StatusCode::kInvalidArgument, fmt::format("\"{}\": {}", folder, why)};
}

Status CheckAccess(const std::string& folder, const char* path, int mode,
                   std::string_view cannot) {
  if (access(path, mode) == 0) return {};
  const std::error_code error(errno, std::generic_category());
  return RefuseFolder(folder, fmt::format("{}: {}", cannot, error.message()));
}

}  // namespace

Status CheckStateDir(const std::string& folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (fs::is_directory(status)) {
    return CheckAccess(folder, folder.c_str(), R_OK | W_OK | X_OK,
                       "it cannot be used");
  }
  if (fs::exists(status)) return RefuseFolder(folder, "it is no folder");
  if (status.type() != fs::file_type::not_found) {
    return RefuseFolder(folder, error.message());
  }
  fs::path above = fs::absolute(folder, error);
  if (!above.has_filename()) above = above.parent_path();  // "folder/"
  above = above.parent_path();
  if (!fs::is_directory(above, error)) {
    return RefuseFolder(
        folder, "neither it nor the folder above it is there: make one");
  }
  return CheckAccess(folder, above.c_str(), W_OK | X_OK, "it cannot be made");
}

}  // namespace ers::proxy
