#include "tails/peers.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace ers::eval {
namespace {

// Of the socket, as the names of descriptors have it; empty: there is none.
std::string InodeOf(int from, int to) {
  // Addresses are printed as the machine keeps them, ports as numbers.
  const std::string local = fmt::format("0100007F:{:04X}", from);
  const std::string remote = fmt::format("0100007F:{:04X}", to);
  std::ifstream table("/proc/net/tcp");
  std::string line;
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::string number, one, other, skipped, inode;
    words >> number >> one >> other;
    if (one != local || other != remote) continue;
    for (int i = 0; i < 6; ++i) words >> skipped;
    words >> inode;
    return inode;
  }
  return {};
}

}  // namespace

bool Owns(int pid, int from, int to) {
  const std::string inode = InodeOf(from, to);
  if (inode.empty() || inode == "0") return false;
  const std::string wanted = fmt::format("socket:[{}]", inode);
  std::error_code error;
  for (std::filesystem::directory_iterator
           each(fmt::format("/proc/{}/fd", pid), error),
       end;
       !error && each != end; each.increment(error)) {
    std::error_code gone;
    if (std::filesystem::read_symlink(each->path(), gone) == wanted) {
      return true;
    }
  }
  return false;
}

}  // namespace ers::eval
