#include "jobs/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/mutex.h"
#include "config/state_dir.h"
#include "shared/read_file.h"

namespace ers::proxy {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".json";
constexpr std::string_view kFresh = ".new";
constexpr std::string_view kBroken = ".broken";
constexpr std::string_view kLastId = "last-id";
// More than any job's file takes.
constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;
// So that ids go on rising.
constexpr std::uint64_t kMaxId = std::uint64_t{1} << 53;

std::string ErrnoText() {
  return std::error_code(errno, std::generic_category()).message();
}

Status Refuse(const std::string& folder, std::string_view why) {
  return {StatusCode::kInvalidArgument, fmt::format("\"{}\": {}", folder, why)};
}

Status Failed(const std::string& path, std::string_view what) {
  return {StatusCode::kUnavailable,
          fmt::format("the journal {}: {}: {}", path, what, ErrnoText())};
}

// Empty: it is none, or could never be one.
std::optional<std::uint64_t> ParseId(std::string_view text) {
  std::uint64_t id = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, id);
  if (parsed.ptr != end || parsed.ec != std::errc() || id == 0 || id > kMaxId) {
    return std::nullopt;
  }
  return id;
}

// The id in "ID.json".
std::optional<std::uint64_t> IdOfFile(std::string_view name) {
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  return ParseId(name);
}

// The id in "ID.json.broken".
std::optional<std::uint64_t> IdOfBroken(std::string_view name) {
  if (!name.ends_with(kBroken)) return std::nullopt;
  name.remove_suffix(kBroken.size());
  return IdOfFile(name);
}

Status SyncFolder(const std::string& folder) {
  const Socket opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0 || fsync(opened.get()) != 0) {
    return Failed(folder, "cannot be synced");
  }
  return {};
}

Status WriteFile(const std::string& path, std::string_view text) {
  const Socket file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file.get() < 0) return Failed(path, "cannot be opened");
  while (!text.empty()) {
    const ssize_t written = write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed(path, "cannot be written");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return fsync(file.get()) == 0 ? Status() : Failed(path, "cannot be synced");
}

Result<std::string> ReadFile(const std::string& path) {
  Result<std::string> text = ReadRegularFile(path, kMaxFileBytes);
  if (text) return text;
  return Fail(StatusCode::kUnavailable,
              fmt::format("the journal {}: cannot be read: {}", path,
                          text.error().message()));
}

Result<Socket> Lock(const std::string& folder) {
  const std::string path = folder + "/lock";
  Socket lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock.get() < 0) {
    return Fail(Refuse(folder, fmt::format("its file \"lock\" cannot be "
                                           "opened: {}",
                                           ErrnoText())));
  }
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return Fail(Refuse(folder, errno == EWOULDBLOCK
                                   ? "another ersproxy uses it: give each its "
                                     "own"
                                   : ErrnoText()));
  }
  return lock;
}

}  // namespace

Journal::Journal(std::string folder, Socket lock)
    : folder_(std::move(folder)), lock_(std::move(lock)) {}

Result<std::unique_ptr<Journal>> Journal::Open(const std::string& folder) {
  Status status = CheckStateDir(folder);
  if (!status.ok()) return Fail(std::move(status));
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) return Fail(Refuse(folder, error.message()));
  Result<Socket> lock = Lock(folder);
  if (!lock) return Fail(lock.error());
  const std::string jobs = folder + "/jobs";
  fs::create_directory(jobs, error);
  if (error) {
    return Fail(Refuse(
        folder, fmt::format("its folder \"jobs\": {}", error.message())));
  }
  std::unique_ptr<Journal> journal(new Journal(jobs, std::move(*lock)));
  status = journal->Load();
  if (!status.ok()) return Fail(Refuse(folder, status.message()));
  Journal& running = *journal;
  running.thread_ = std::thread([&running] { running.Run(); });
  return journal;
}

Journal::~Journal() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

Status Journal::Load() {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  if (error) {
    return {
        StatusCode::kInvalidArgument,
        fmt::format("its folder \"jobs\" cannot be read: {}", error.message())};
  }
  for (const std::string& name : names) {
    // A write that was cut off: what it was to replace stands.
    if (name.ends_with(kFresh))
      unlink(fmt::format("{}/{}", folder_, name).c_str());
    if (IdOfFile(name)) LoadFile(name);
    highest_id_ = std::max(highest_id_, IdOfBroken(name).value_or(0));
  }
  LoadLastId();
  std::sort(entries_.begin(), entries_.end(),
            [](const JournalEntry& a, const JournalEntry& b) {
              return a.job.id < b.job.id;
            });
  return {};
}

void Journal::LoadFile(const std::string& name) {
  const std::string path = fmt::format("{}/{}", folder_, name);
  const std::uint64_t id = *IdOfFile(name);
  highest_id_ = std::max(highest_id_, id);
  const Result<std::string> text = ReadFile(path);
  // It may be whole, and is left alone.
  if (!text) {
    spdlog::error("job {} is not taken up: {}", id, text.error().message());
    return;
  }
  Result<JournalEntry> entry = ParseJournalText(*text);
  if (entry && entry->job.id != id) {
    entry = Fail(StatusCode::kInvalidArgument,
                 fmt::format("it is of job {}", entry->job.id));
  }
  if (entry) {
    entries_.push_back(std::move(*entry));
    return;
  }
  if (entry.error().code() == StatusCode::kUnsupportedFormat) {
    spdlog::error("job {} is not taken up: {}: {}", id, path,
                  entry.error().message());
    return;
  }
  const std::string aside = fmt::format("{}{}", path, kBroken);
  const bool moved = std::rename(path.c_str(), aside.c_str()) == 0;
  spdlog::error("job {} is lost: {} is damaged ({}); it {}", id, path,
                entry.error().message(),
                moved ? fmt::format("is now {}", aside)
                      : fmt::format("cannot be renamed: {}", ErrnoText()));
}

// Where it is missing or damaged, the files' names alone show it.
void Journal::LoadLastId() {
  const std::string path = fmt::format("{}/{}", folder_, kLastId);
  std::error_code error;
  if (fs::exists(path, error)) {
    const Result<std::string> text = ReadFile(path);
    const std::optional<std::uint64_t> id =
        text && text->ends_with('\n')
            ? ParseId(std::string_view(*text).substr(0, text->size() - 1))
            : std::nullopt;
    if (!id) {
      spdlog::error("{} is damaged: ids of forgotten jobs may come again",
                    path);
    }
    last_id_ = id.value_or(0);
  }
  highest_id_ = std::max(highest_id_, last_id_);
  // Files may be removed by hand. Where it fails, the next job's tries again.
  (void)KeepId(highest_id_);
}

std::string Journal::PathOf(std::uint64_t id) const {
  return fmt::format("{}/{}{}", folder_, id, kSuffix);
}

void Journal::Save(std::uint64_t id, std::string text, Done done) {
  {
    const MutexLock lock(mutex_);
    orders_.push_back({id, false, std::move(text), std::move(done)});
  }
  changed_.notify_one();
}

void Journal::Remove(std::uint64_t id, Done done) {
  {
    const MutexLock lock(mutex_);
    orders_.push_back({id, true, {}, std::move(done)});
  }
  changed_.notify_one();
}

// A read of it, also after a crash, finds the old or the new one whole.
Status Journal::Replace(const std::string& path, std::string_view text) const {
  const std::string fresh = fmt::format("{}{}", path, kFresh);
  Status status = WriteFile(fresh, text);
  if (status.ok() && std::rename(fresh.c_str(), path.c_str()) != 0) {
    status = Failed(path, "cannot be replaced");
  }
  if (!status.ok()) unlink(fresh.c_str());
  return status.ok() ? SyncFolder(folder_) : status;
}

Status Journal::KeepId(std::uint64_t id) {
  if (id <= last_id_) return {};
  Status status =
      Replace(fmt::format("{}/{}", folder_, kLastId), fmt::format("{}\n", id));
  if (status.ok()) last_id_ = id;
  return status;
}

Status Journal::Carry(const Order& order) {
  const std::string path = PathOf(order.id);
  if (order.remove) {
    if (unlink(path.c_str()) != 0 && errno != ENOENT) {
      return Failed(path, "cannot be removed");
    }
    return SyncFolder(folder_);
  }
  Status status = KeepId(order.id);
  return status.ok() ? Replace(path, order.text) : status;
}

void Journal::Run() {
  MutexLock lock(mutex_);
  for (;;) {
    while (!ending_ && orders_.empty()) lock.Wait(changed_);
    if (orders_.empty()) return;
    const Order order = std::move(orders_.front());
    orders_.pop_front();
    lock.Unlock();
    order.done(Carry(order));
    lock.Lock();
  }
}

}  // namespace ers::proxy
