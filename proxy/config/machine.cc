#include "config/machine.h"

#include <fmt/format.h>
#include <netdb.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "net/endpoint.h"
#include "shared/address.h"

namespace ers::proxy {
namespace {

namespace fs = std::filesystem;

Status RefuseAt(std::string_view place, std::string_view what,
                std::string_view why) {
  return {StatusCode::kInvalidArgument,
          fmt::format("{}: \"{}\": {}", place, what, why)};
}

std::string ErrnoText() {
  return std::error_code(errno, std::generic_category()).message();
}

// What keeps a file from being made at `path`; "": nothing.
std::string NoFileAt(const std::string& path) {
  std::error_code error;
  const std::string folder = fs::absolute(path, error).parent_path().string();
  if (!fs::is_directory(folder, error)) {
    return fmt::format("there is no folder {}: make it, or choose another path",
                       folder);
  }
  if (access(folder.c_str(), W_OK | X_OK) == 0) return "";
  return fmt::format("nothing can be made in {}: {}", folder, ErrnoText());
}

// It is never written in place: a new file takes its name.
std::string NoStateFile(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status)) {
    if (!fs::is_regular_file(status)) return "it is no file: name another";
    if (access(path.c_str(), R_OK) != 0) {
      return fmt::format("it cannot be read: {}", ErrnoText());
    }
  }
  return NoFileAt(path);
}

// Why `host` has no address; "": it has.
std::string NoAddressOf(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) {
    return fmt::format("the name {} is not found: {}", host,
                       error == EAI_SYSTEM ? ErrnoText() : gai_strerror(error));
  }
  freeaddrinfo(found);
  return "";
}

Status CheckListenName(std::string_view place, const std::string& text) {
  const Result<Address> address = ParseAddress(text);
  if (!address || address->host.empty()) return {};
  const std::string why = NoAddressOf(address->host);
  return why.empty() ? Status() : RefuseAt(place, text, why);
}

}  // namespace

Status CheckFolders(const ServerOptions& options) {
  const std::string& state_file = options.cluster.state_file;
  if (!state_file.empty()) {
    const std::string why = NoStateFile(state_file);
    if (!why.empty()) {
      return RefuseAt(options.PlaceOf("state_file"), state_file, why);
    }
  }
  for (const std::string& text : options.listen) {
    const Result<Address> address = ParseAddress(text);
    if (!address || address->path.empty()) continue;
    const std::string why = NoFileAt(address->path);
    if (!why.empty()) return RefuseAt(options.PlaceOf("listen"), text, why);
  }
  return {};
}

Status CheckNames(const ServerOptions& options) {
  for (const std::string& text : options.listen) {
    Status found = CheckListenName(options.PlaceOf("listen"), text);
    if (!found.ok()) return found;
  }
  if (!options.admin.empty()) {
    Status found = CheckListenName(options.PlaceOf("admin"), options.admin);
    if (!found.ok()) return found;
  }
  const auto servers = net::ParseEndpoints(options.cluster.servers);
  if (!servers) return servers.error();
  for (const net::Endpoint& server : *servers) {
    if (server.is_unix()) continue;
    const std::string why = NoAddressOf(server.host);
    if (!why.empty()) {
      return RefuseAt(options.PlaceOf("servers"), server.name(), why);
    }
  }
  return {};
}

}  // namespace ers::proxy
