#include "shared/read_file.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <string>

#include "config/load.h"
#include "unit/proxy/temporary_file.h"
#include "unit/proxy/temporary_folder.h"

namespace ers::proxy {
namespace {

std::string WhyNot(const std::string& path, std::size_t most = 10) {
  const Result<std::string> text = ReadRegularFile(path, most);
  return text ? "it is read" : std::string(text.error().message());
}

TEST_CASE("a regular file is read whole") {
  const TemporaryFile file("0123456789");
  CHECK(ReadRegularFile(file.name(), 10).value() == "0123456789");
  CHECK(WhyNot(file.name(), 9) == "it is longer than 9 bytes");
  const TemporaryFile empty("");
  CHECK(ReadRegularFile(empty.name(), 0).value().empty());
}

TEST_CASE("what is no regular file is refused, and not waited for") {
  const TemporaryFolder folder;
  CHECK(WhyNot(folder.Of("none")) == "No such file or directory");
  CHECK(WhyNot(folder.Of("")) == "Is a directory");
  CHECK(WhyNot("/dev/zero") == "it is not a regular file");
  // Nothing ever writes to it.
  const std::string pipe = folder.Of("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(WhyNot(pipe) == "it is not a regular file");
  const Result<ServerOptions> options = LoadOptions(pipe);
  REQUIRE_FALSE(options);
  CHECK(options.error().message() ==
        pipe + ": cannot be read: it is not a regular file");
}

}  // namespace
}  // namespace ers::proxy
