// Journal: jobs on disk, so that they outlive the process.
#ifndef ERS_PROXY_JOBS_JOURNAL_H_
#define ERS_PROXY_JOBS_JOURNAL_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "ers/status.h"
#include "jobs/job_json.h"
#include "shared/listener.h"

namespace ers::proxy {

// One file for each job, FOLDER/jobs/ID.json, replaced as a whole and synced;
// FOLDER/jobs/last-id outlives the jobs, so that no id comes twice. A thread of
// its own writes them: a slow disk holds up no event loop.
class Journal {
 public:
  using Done = std::function<void(const Status&)>;

  // Makes the folder where it is missing and locks it until destruction.
  // kInvalidArgument names it, also where another process has it.
  static Result<std::unique_ptr<Journal>> Open(const std::string& folder);
  // What was asked for is done first.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // What was found, in order of id. A file that is damaged was renamed to
  // NAME.broken; that, and where one is of a newer version, the log says.
  [[nodiscard]] const std::vector<JournalEntry>& entries() const {
    return entries_;
  }
  // No job that was ever saved had a higher one.
  [[nodiscard]] std::uint64_t highest_id() const { return highest_id_; }

  // Any thread; in the order of the calls. `done` is called on the journal's
  // thread when it is on disk, or why not. Ids of new jobs rise.
  void Save(std::uint64_t id, std::string text, Done done);
  void Remove(std::uint64_t id, Done done);

 private:
  struct Order {
    std::uint64_t id = 0;
    bool remove = false;
    std::string text;
    Done done;
  };
  Journal(std::string folder, Socket lock);
  Status Load();
  void LoadFile(const std::string& name);
  void LoadLastId();
  void Run();
  Status Carry(const Order& order);
  Status KeepId(std::uint64_t id);
  Status Replace(const std::string& path, std::string_view text) const;
  [[nodiscard]] std::string PathOf(std::uint64_t id) const;

  const std::string folder_;  // of the files
  const Socket lock_;
  std::vector<JournalEntry> entries_;
  std::uint64_t highest_id_ = 0;
  // In the file; of the journal's thread, once it runs.
  std::uint64_t last_id_ = 0;

  Mutex mutex_;
  std::condition_variable changed_;
  std::deque<Order> orders_ ERS_GUARDED_BY(mutex_);
  bool ending_ ERS_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_JOBS_JOURNAL_H_
