#include "daemon/handover.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <optional>
#include <string>

namespace ers::proxy {
namespace {

using Word = HandoverChannel::Word;

struct Ends {
  Ends() : Ends(Pair()) {}
  explicit Ends(const std::array<int, 2>& ends)
      : one(std::in_place, Socket(ends[0])), other(Socket(ends[1])) {}
  static std::array<int, 2> Pair() {
    std::array<int, 2> ends{};
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
                       ends.data()) == 0);
    return ends;
  }
  std::optional<HandoverChannel> one;
  HandoverChannel other;
};

TEST_CASE("words come one by one, a client with what it has sent") {
  Ends ends;
  std::array<int, 2> pipe_ends{};
  REQUIRE(pipe2(pipe_ends.data(), O_CLOEXEC) == 0);
  const Socket reader(pipe_ends[0]);
  std::optional<Socket> writer(pipe_ends[1]);
  const std::string unread(16384, 'u');
  CHECK(ends.one->Send(Word::kServes));
  CHECK(ends.one->Send(Word::kClient, unread, writer->get()));
  CHECK(ends.one->Send(Word::kClient, "", writer->get()));
  writer.reset();

  std::optional<HandoverChannel::Message> got = ends.other.Receive();
  REQUIRE(got);
  CHECK(got->word == Word::kServes);
  CHECK(got->client.get() < 0);
  got = ends.other.Receive();
  REQUIRE(got);
  CHECK(got->word == Word::kClient);
  CHECK(got->unread == unread);
  // It is open there still, and no program that is started gets it.
  REQUIRE(got->client.get() >= 0);
  CHECK((fcntl(got->client.get(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(write(got->client.get(), "x", 1) == 1);
  got = ends.other.Receive();
  REQUIRE(got);
  CHECK(got->unread.empty());
  got.reset();
  std::array<char, 2> left{};
  CHECK(read(reader.get(), left.data(), left.size()) == 1);
  CHECK(read(reader.get(), left.data(), left.size()) == 0);
}

TEST_CASE("either end shows that the other one is gone") {
  Ends ends;
  ends.one.reset();
  CHECK_FALSE(ends.other.Receive());
  CHECK_FALSE(ends.other.Send(Word::kMayServe));
}

TEST_CASE("a process of another version is not taken over from") {
  for (const char* said : {"2:1", "1:", "1:x", "1:-1", "1:1:x", ""}) {
    CAPTURE(said);
    setenv("ERSPROXY_TAKES_OVER", said, 1);
    const Result<Inheritance> found = TakeInheritance();
    REQUIRE_FALSE(found);
    CHECK(found.error().code() == StatusCode::kInvalidArgument);
  }
  unsetenv("ERSPROXY_TAKES_OVER");
  const Result<Inheritance> found = TakeInheritance();
  REQUIRE(found);
  CHECK(found->listening.empty());
  CHECK_FALSE(found->before);
}

TEST_CASE("a program that is not there is no successor") {
  const Result<Successor> none =
      StartSuccessor({"/no/such/program"}, {}, false);
  REQUIRE_FALSE(none);
  CHECK(none.error().message() ==
        "/no/such/program: No such file or directory");
}

}  // namespace
}  // namespace ers::proxy
