#include "config/user.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <vector>

namespace ers::proxy {
namespace {

tl::unexpected<Status> RefuseUser(const std::string& name,
                                  std::string_view why) {
  return Fail(StatusCode::kInvalidArgument,
              fmt::format("\"{}\": {}", name, why));
}

tl::unexpected<Status> RefuseErrno(const std::string& name, int error) {
  return RefuseUser(name,
                    std::error_code(error, std::generic_category()).message());
}

struct User {
  uid_t id = 0;
  gid_t group = 0;
};

Result<User> FindUser(const std::string& name) {
  std::vector<char> text(1 << 10);
  passwd entry{};
  passwd* found = nullptr;
  int error = ERANGE;
  while ((error = getpwnam_r(name.c_str(), &entry, text.data(), text.size(),
                             &found)) == ERANGE) {
    text.resize(2 * text.size());
  }
  if (found == nullptr) {
    if (error != 0 && error != ENOENT) return RefuseErrno(name, error);
    return RefuseUser(name, "there is no such user");
  }
  if (geteuid() != 0 && geteuid() != found->pw_uid) {
    return RefuseUser(name,
                      "only a process that root starts becomes another user");
  }
  return User{found->pw_uid, found->pw_gid};
}

}  // namespace

Status CheckUser(const std::string& name) {
  const Result<User> user = FindUser(name);
  return user ? Status() : user.error();
}

Status BecomeUser(const std::string& name) {
  const Result<User> user = FindUser(name);
  if (!user) return user.error();
  if (geteuid() != 0) return {};  // it is that user's
  // The groups first: the user may not.
  if (initgroups(name.c_str(), user->group) != 0 || setgid(user->group) != 0 ||
      setuid(user->id) != 0) {
    return RefuseErrno(name, errno).value();
  }
  if (user->id != 0 && setuid(0) == 0) {
    return RefuseUser(name, "this process could become root again").value();
  }
  return {};
}

}  // namespace ers::proxy
