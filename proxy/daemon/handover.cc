#include "daemon/handover.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace ers::proxy {
namespace {

// "VERSION:N" or "VERSION:N:kept": the first N descriptors behind standard
// error are listening sockets, the next one is the channel.
constexpr const char* kVariable = "ERSPROXY_TAKES_OVER";
constexpr std::string_view kVersion = "1:";
constexpr std::string_view kKept = ":kept";
constexpr int kFirst = SD_LISTEN_FDS_START;

// More than a client can have sent of a request that is not read yet.
constexpr std::size_t kMaxUnread = 64 << 10;
constexpr timeval kPatience = {5, 0};

tl::unexpected<Status> RefuseErrno(std::string_view what, int error) {
  return Fail(StatusCode::kUnavailable,
              fmt::format("{}: {}", what, std::strerror(error)));
}

union Control {
  cmsghdr header;  // for its alignment
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

// Where a new process finds them no other descriptor may be meanwhile.
Result<std::vector<Socket>> CopiesAbove(const std::vector<int>& descriptors) {
  std::vector<Socket> copies;
  const int above = kFirst + static_cast<int>(descriptors.size());
  for (const int descriptor : descriptors) {
    copies.emplace_back(fcntl(descriptor, F_DUPFD_CLOEXEC, above));
    if (copies.back().get() < 0) return RefuseErrno("a descriptor", errno);
  }
  return copies;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

bool HandoverChannel::Send(Word word, std::string_view unread,
                           int client) const {
  std::array<iovec, 2> pieces = {
      iovec{&word, sizeof word},
      iovec{const_cast<char*>(unread.data()), unread.size()}};
  Control control{};
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  if (client >= 0) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof client);
    std::memcpy(CMSG_DATA(header), &client, sizeof client);
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

std::optional<HandoverChannel::Message> HandoverChannel::Receive() const {
  Message got{};
  got.unread.resize(kMaxUnread);
  std::array<iovec, 2> pieces = {iovec{&got.word, sizeof got.word},
                                 iovec{got.unread.data(), got.unread.size()}};
  Control control{};
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  ssize_t count = 0;
  do {
    count = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count <= 0) return std::nullopt;
  got.unread.resize(static_cast<std::size_t>(count) - sizeof got.word);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    int client = -1;
    std::memcpy(&client, CMSG_DATA(header), sizeof client);
    got.client = Socket(client);
  }
  return std::optional<Message>(std::move(got));
}

Result<Successor> StartSuccessor(const std::vector<std::string>& command,
                                 const std::vector<int>& listening, bool kept) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return RefuseErrno("a pair of sockets", errno);
  }
  auto channel = std::make_shared<const HandoverChannel>(Socket(ends[0]));
  const Socket other(ends[1]);
  for (const int end : ends) {
    setsockopt(end, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  }
  std::vector<int> given = listening;
  given.push_back(other.get());
  const Result<std::vector<Socket>> copies = CopiesAbove(given);
  if (!copies) return Fail(copies.error());

  std::vector<std::string> variables;
  for (char** i = environ; *i != nullptr; ++i) variables.emplace_back(*i);
  variables.push_back(fmt::format("{}={}{}{}", kVariable, kVersion,
                                  listening.size(),
                                  kept ? kKept : std::string_view()));
  std::vector<std::string> words = command;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (std::size_t i = 0; i < copies->size(); ++i) {
    posix_spawn_file_actions_adddup2(&actions, (*copies)[i].get(),
                                     kFirst + static_cast<int>(i));
  }
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, words.front().c_str(), &actions, nullptr,
                  Pointers(words).data(), Pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return RefuseErrno(words.front(), error);
  return Successor{pid, std::move(channel)};
}

Result<Inheritance> TakeInheritance() {
  Inheritance found;
  int count = sd_listen_fds(/*unset_environment=*/1);
  const char* variable = std::getenv(kVariable);
  const bool takes_over = variable != nullptr;
  found.kept = count > 0;
  if (takes_over) {
    std::string_view said = variable;
    const bool known = said.starts_with(kVersion);
    said.remove_prefix(known ? kVersion.size() : 0);
    const auto number =
        std::from_chars(said.data(), said.data() + said.size(), count);
    said.remove_prefix(static_cast<std::size_t>(number.ptr - said.data()));
    found.kept = said == kKept;
    if (!known || number.ec != std::errc() || count < 0 ||
        (!said.empty() && !found.kept)) {
      return Fail(StatusCode::kInvalidArgument,
                  fmt::format("{}={}: this version takes over from none that "
                              "says so: restart it",
                              kVariable, variable));
    }
    unsetenv(kVariable);
  }
  for (int i = 0; i < count; ++i) {
    fcntl(kFirst + i, F_SETFD, FD_CLOEXEC);
    found.listening.emplace_back(kFirst + i);
  }
  if (takes_over) {
    fcntl(kFirst + count, F_SETFD, FD_CLOEXEC);
    found.before.emplace(Socket(kFirst + count));
  }
  return found;
}

}  // namespace ers::proxy
