#include "shared/listener.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "unit/proxy/temporary_folder.h"

namespace ers::proxy {
namespace {

namespace fs = std::filesystem;

Result<Listener> ListenAt(const std::string& address, int workers) {
  std::vector<Socket> none;
  return Listen(address, workers, none);
}

std::string WhyNot(const std::string& address) {
  const Result<Listener> listener = ListenAt(address, 1);
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
    (void)ListenAt(path, 1);
    REQUIRE(fs::is_socket(path));
    CHECK(Connected(path).get() < 0);
    const Result<Listener> listener = ListenAt(path, 1);
    REQUIRE(listener);
    CHECK(Connected(path).get() >= 0);
  }
  SECTION("one that a process listens on, also if it accepts none") {
    const Result<Listener> other = ListenAt(path, 1);
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

std::vector<int> NumbersOf(const std::vector<Socket>& sockets) {
  std::vector<int> numbers;
  for (const Socket& socket : sockets) numbers.push_back(socket.get());
  return numbers;
}

TEST_CASE("sockets that are there already are taken by their address") {
  const TemporaryFolder folder;
  const std::string path = folder.Of("socket");
  std::vector<Socket> inherited;
  std::vector<std::vector<int>> numbers;
  std::vector<std::string> names;
  const auto give = [&](const std::string& address, int workers) {
    Result<Listener> made = ListenAt(address, workers);
    REQUIRE(made);
    names.push_back(made->name);
    numbers.push_back(NumbersOf(made->sockets));
    for (Socket& socket : made->sockets) {
      inherited.push_back(std::move(socket));
    }
  };
  give("127.0.0.1:0", 3);
  give(path, 1);
  give("127.0.0.1:0", 1);
  give("localhost:0", 2);
  const std::string last = NameOf(inherited.back());
  CHECK(last.substr(last.rfind(':')) == names[3].substr(names[3].rfind(':')));
  CHECK(NameOf(inherited[3]) == path);

  const auto taken = [&](const std::string& address) {
    const Result<Listener> listener = Listen(address, 8, inherited);
    REQUIRE(listener);
    const std::vector<int> found = NumbersOf(listener->sockets);
    for (const int number : found) {
      int listens = 0;
      socklen_t size = sizeof listens;
      getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size);
      CHECK(listens == 1);
    }
    return std::pair(listener->name, found);
  };
  // By its port; then any at that host, in their order.
  CHECK(taken(names[2]) == std::pair(names[2], numbers[2]));
  CHECK(taken("127.0.0.1:0") == std::pair(names[0], numbers[0]));
  CHECK(taken(path) == std::pair(path, numbers[1]));
  CHECK(inherited.size() == 2);
  // Another one is opened as ever.
  CHECK(taken("127.0.0.2:0").second.size() == 8);
  CHECK(inherited.size() == 2);
}

TEST_CASE("a name is listened on, and a port that is taken is reported") {
  const Result<Listener> listener = ListenAt("localhost:0", 2);
  REQUIRE(listener);
  CHECK(listener->sockets.size() == 2);
  const std::string port = listener->name.substr(listener->name.rfind(':'));
  CHECK(WhyNot("localhost" + port).find("Address already in use") !=
        std::string::npos);
}

}  // namespace
}  // namespace ers::proxy
