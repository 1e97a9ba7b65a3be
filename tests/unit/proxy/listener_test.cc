#include "shared/listener.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "unit/proxy/temporary_folder.h"

namespace ers::proxy {
namespace {

namespace fs = std::filesystem;

std::string WhyNot(const std::string& address) {
  const Result<Listener> listener = Listen(address, 1);
  return listener ? "it listens" : std::string(listener.error().message());
}

Socket Connected(const std::string& path) {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  path.copy(where.sun_path, sizeof where.sun_path - 1);
  Socket made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(made.get(), reinterpret_cast<const sockaddr*>(&where),
              sizeof where) != 0) {
    return Socket();
  }
  return made;
}

TEST_CASE("only a socket that nothing listens on is replaced") {
  const TemporaryFolder folder;
  const std::string path = folder.Of("socket");
  SECTION("a socket that was left behind") {
    (void)Listen(path, 1);
    REQUIRE(fs::is_socket(path));
    CHECK(Connected(path).get() < 0);
    const Result<Listener> listener = Listen(path, 1);
    REQUIRE(listener);
    CHECK(Connected(path).get() >= 0);
  }
  SECTION("one that a process listens on, also if it accepts none") {
    const Result<Listener> other = Listen(path, 1);
    REQUIRE(other);
    const bool full = GENERATE(false, true);
    std::vector<Socket> waiting;
    if (full) REQUIRE(listen(other->sockets.front().get(), 0) == 0);
    while (full) {
      waiting.push_back(Connected(path));
      if (waiting.back().get() < 0) break;
    }
    CHECK(WhyNot(path).starts_with("listen: " + path +
                                   ": Address already in use; another program "
                                   "listens there"));
  }
  SECTION("a file") {
    std::ofstream(path) << "of value";
    CHECK(WhyNot(path) == "listen: " + path +
                              ": a file that is no socket is there: move it "
                              "away, or choose another path");
    std::string kept;
    std::getline(std::ifstream(path), kept);
    CHECK(kept == "of value");
  }
  SECTION("a link to a file, or to nothing") {
    if (GENERATE(false, true)) std::ofstream(folder.Of("file")) << "of value";
    fs::create_symlink(folder.Of("file"), path);
    CHECK(WhyNot(path).find("no socket is there") != std::string::npos);
    CHECK(fs::is_symlink(path));
  }
  SECTION("a folder") {
    fs::create_directory(path);
    CHECK(WhyNot(path).find("no socket is there") != std::string::npos);
    CHECK(fs::is_directory(path));
  }
}

TEST_CASE("a folder that is not there is named") {
  const TemporaryFolder folder;
  const std::string none = folder.Of("none");
  CHECK(WhyNot(none + "/socket") == "listen: " + none +
                                        "/socket: there is no folder " + none +
                                        "/: make it, or choose another path");
  std::ofstream(folder.Of("file")) << "";
  CHECK(WhyNot(folder.Of("file/socket")).find("there is no folder") !=
        std::string::npos);
}

TEST_CASE("a name is listened on, and a port that is taken is reported") {
  const Result<Listener> listener = Listen("localhost:0", 2);
  REQUIRE(listener);
  CHECK(listener->sockets.size() == 2);
  const std::string port = listener->name.substr(listener->name.rfind(':'));
  CHECK(WhyNot("localhost" + port).find("Address already in use") !=
        std::string::npos);
}

}  // namespace
}  // namespace ers::proxy
