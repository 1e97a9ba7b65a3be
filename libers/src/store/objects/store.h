// Store: the operations on objects, asynchronous. One source file each.
#ifndef ERS_STORE_OBJECTS_STORE_H_
#define ERS_STORE_OBJECTS_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ers/list.h"
#include "ers/object_info.h"
#include "ers/options.h"
#include "ers/value.h"
#include "net/task.h"
#include "store/format/manifest.h"
#include "store/membership/session.h"
#include "store/objects/quick_get.h"
#include "store/objects/quick_put.h"
#include "store/repair/listing.h"
#include "store/support/content.h"
#include "store/support/memory.h"
#include "store/support/step_timer.h"

namespace ers::store {

// What a put asks of the object under its key.
enum class PutCondition {
  kNone,
  kAbsent,   // kConflict where there is one
  kPresent,  // kNotFound where there is none
};

// An item that a plain memcached client stored.
struct PlainItem {
  std::uint32_t client_flags = 0;
  std::uint64_t cas = 0;
  std::int64_t ttl = -1;  // seconds left; -1: never expires
};

struct PutTerms {
  PutCondition condition = PutCondition::kNone;
  // The object's CAS from now on; empty: the next one.
  std::optional<std::uint64_t> new_cas;
  // With an expected CAS: an object whose CAS is higher gets the value, too. It
  // is stale then; its expiry and its mark of a winner stay.
  bool stale_if_newer = false;
  bool won = false;  // the mark
  // Nothing is staged, and no content read, where the object refuses it by then
  // already. One round trip more; the commit checks again.
  bool check_first = false;
  // In place of the client's limit, in bytes.
  std::optional<std::size_t> inline_below;
};

// What becomes of a value that is rewritten.
struct Rewritten {
  Status status;  // not OK: nothing is changed
  std::string value;
  bool keeps_marks = false;            // stale, won: they end with a value else
  std::optional<std::int64_t> expiry;  // Unix seconds; empty: as it was
  // In place of the client's limit, in bytes.
  std::optional<std::size_t> inline_below;
};

// What becomes of an object whose value stays. Empty: as it was.
struct MetadataUpdate {
  Status status;                       // not OK: nothing is changed
  std::optional<std::int64_t> expiry;  // Unix seconds, 0 never
  std::optional<bool> stale;
  std::optional<bool> won;
  bool new_cas = false;
};

// Which values are packed.
struct PackTerms {
  bool any = false;  // also where that takes no less memory
};

// What became of values that were to be packed.
struct PackedValues {
  std::uint64_t values = 0;
  std::uint64_t bytes = 0;
  std::uint64_t unpacked = 0;       // of other packs, whole again
  std::uint64_t bytes_read = 0;     // of those that were in other packs
  std::uint64_t bytes_written = 0;  // of the pack's blocks, parity among them
};

// A pack's keys and values have up to so many bytes: a read of one value takes
// one of its blocks, which should be a small one.
std::uint64_t PackBytesFor(const Scheme& scheme);
// Does the value, kept whole, take a third more memory than packed, and does it
// not end soon?
bool IsWorthPacking(Session& session, const Manifest& value);

// Called once, before the first byte of a value that is streamed.
using StreamBegin = std::function<void(const GetInfo&)>;
// Takes the next piece. A failure ends the stream with it.
using AsyncSink = std::function<net::Task<Status>(Value piece)>;

// What servers know of accesses to an object. A change makes it unread anew,
// and so does a change of width; an access but the first may be reported late.
struct Access {
  bool fetched = false;      // read since the last change
  std::uint64_t idle_s = 0;  // seconds since it was read or changed
};

// How a read shows at the servers.
struct ReadTerms {
  bool no_bump = false;       // as no access
  Access* before = nullptr;   // takes what is known of accesses before this one
  QuickGet* begun = nullptr;  // it has begun with this, which is no hit
};

// How a value is streamed: in pieces of about so many bytes (at least a block),
// so many of them in memory at a time.
struct StreamWindow {
  std::uint64_t piece_bytes;
  int pieces;
  // Asked for each piece, and waited for where no other is under way. What a
  // piece takes is the sink's to give back once it was handed that piece.
  Memory* memory = nullptr;
  bool no_bump = false;  // servers take it for no access
};

// The operations of ers::Client (same outcomes), as tasks of one loop. Any
// number may run at the same time; arguments outlive the task; callbacks run
// on the loop thread and must not wait. Loop thread only.
class Store {
 public:
  Store(Session& session, const ClientOptions& options)
      : session_(session), options_(options) {}
  // The same, for an operation whose steps are taken the time of; `steps`
  // outlives both.
  Store(const Store& store, StepTimer& steps)
      : session_(store.session_), options_(store.options_), steps_(&steps) {}

  net::Task<Result<ObjectInfo>> Put(std::string_view key,
                                    std::span<const std::byte> value,
                                    const PutOptions& options);
  net::Task<Result<ObjectInfo>> PutFrom(std::string_view key,
                                        const Source& source,
                                        const PutOptions& options);
  // The same, from content that may take its time, under a condition.
  net::Task<Result<ObjectInfo>> PutContent(std::string_view key,
                                           Content& content,
                                           const PutOptions& options,
                                           const PutTerms& terms);
  // As PutContent begins and mostly ends, of a short value over one that was
  // put just so before. Null: it cannot begin so, as for an operation whose
  // steps are timed, or under a condition.
  std::unique_ptr<QuickPut> BeginPut(std::string_view key,
                                     std::string_view value,
                                     const PutOptions& options,
                                     const PutTerms& terms, QuickPut::Call call,
                                     void* context) const;
  net::Task<Result<GetInfo>> Get(std::string_view key, Value& value);
  net::Task<Result<GetInfo>> GetRange(std::string_view key,
                                      std::uint64_t offset,
                                      std::uint64_t length, Value& value);
  // The value if it has at most `max_bytes`; else only what it is, with
  // `value` empty.
  net::Task<Result<GetInfo>> GetUpTo(std::string_view key,
                                     std::uint64_t max_bytes, Value& value,
                                     ReadTerms terms = {});
  // As GetUpTo begins, of a key whose value is not known to be in blocks. Null:
  // it cannot begin so, as for an operation whose steps are timed.
  std::unique_ptr<QuickGet> BeginGet(std::string_view key, QuickGet::Call call,
                                     void* context) const;
  // How long the value was when this loop last saw it, if it was in blocks: a
  // hint, for which no server is asked.
  [[nodiscard]] std::optional<std::uint64_t> KnownLength(
      std::string_view key) const;
  // For a key of which other calls say kNotManaged: the item as it is, on the
  // server that a plain client with the same ring would ask. kNotFound: it is
  // gone. Nothing is known of the key's value then.
  // `memory` (null: no limit) is asked for twice the item's length.
  net::Task<Result<PlainItem>> GetPlain(std::string_view key, Value& value,
                                        Memory* memory = nullptr);
  net::Task<Result<GetInfo>> GetTo(std::string_view key,
                                   const StreamBegin& begin, const Sink& sink);
  // The same for a sink that may take its time; no more than the window is
  // read ahead of it.
  net::Task<Result<GetInfo>> Stream(std::string_view key, StreamWindow window,
                                    const StreamBegin& begin,
                                    const AsyncSink& sink);
  net::Task<Result<ObjectInfo>> Update(std::string_view key,
                                       std::uint64_t offset,
                                       std::span<const std::byte> bytes);
  net::Task<Result<ObjectInfo>> Append(std::string_view key,
                                       const Source& source);
  // Replaces the value by what `rewriter` makes of it, whole and in memory, as
  // one atomic change; scheme, width and flags stay. The rewriter is asked
  // again whenever a rival was first; its failure is the call's.
  using Rewriter = std::function<Rewritten(const ObjectInfo& info,
                                           std::span<const std::byte> value)>;
  // Asked before the value is read: not OK, and the call ends with that.
  using RewriteCheck = std::function<Status(const ObjectInfo& info)>;
  net::Task<Result<ObjectInfo>> Rewrite(std::string_view key,
                                        const Rewriter& rewriter,
                                        const RewriteCheck& may_read = {});
  // Changes what `updater` says, and nothing where it says nothing. Asked again
  // whenever a rival was first.
  using MetadataUpdater = std::function<MetadataUpdate(const ObjectInfo& info)>;
  // `no_bump`: servers do not take the read of the object for an access.
  net::Task<Result<ObjectInfo>> UpdateMetadata(std::string_view key,
                                               const MetadataUpdater& updater,
                                               bool no_bump = true);
  // A new expiry (Unix seconds, 0 never); bytes, flags and CAS stay.
  net::Task<Result<ObjectInfo>> Touch(std::string_view key,
                                      std::int64_t expiry);
  // Non-zero `expected_cas`: kConflict where the object has another.
  net::Task<Status> Delete(std::string_view key,
                           std::uint64_t expected_cas = 0);
  // The value as a plain item where plain clients ask, in the object's place.
  net::Task<Result<ObjectInfo>> Export(std::string_view key, ExportMode mode);
  // Makes every object that was last changed before `time_us` (Unix
  // microseconds, also in the future) absent from then on; or, with kAtOnce,
  // whatever is there. It takes back no other flush. kOutcomeUnknown: it may
  // take effect later, on what there is by then.
  net::Task<Status> Flush(std::uint64_t time_us);
  net::Task<Result<TransitionInfo>> Transition(std::string_view key,
                                               const TransitionTarget& target,
                                               TransitionVariant variant);
  // Puts small values, of one scheme and width, into one pack, as their
  // manifests were just read: one that was changed since stays as it is. Bytes,
  // flags, CAS and expiry stay. Nothing is packed where it would not fill half
  // a pack.
  net::Task<Result<PackedValues>> Pack(
      std::vector<std::shared_ptr<const Manifest>> values,
      PackTerms terms = {});
  // What the object is, and where its blocks are. Servers take neither for an
  // access.
  net::Task<Result<ObjectInfo>> Info(std::string_view key);
  net::Task<Result<ObjectDetail>> Stat(std::string_view key);
  // Nor this, which may be ended by `terms.stop`.
  net::Task<Status> ListObjects(
      const ListTerms& terms,
      const std::function<bool(const ListedObject&)>& visit);
  // One object as it is listed; without a manifest where there is none.
  net::Task<Result<ListedObject>> ReadListed(std::string_view key);
  net::Task<Status> List(
      const std::function<bool(std::string_view, const ObjectInfo&)>& visit,
      const ListOptions& options = {});
  net::Task<Result<ClusterInfo>> Servers();
  // The time of the cluster, in Unix microseconds: expiries go by it.
  [[nodiscard]] std::int64_t WallMicros() const {
    return session_.WallMicros();
  }

 private:
  Session& session_;
  const ClientOptions options_;
  StepTimer* const steps_ = nullptr;
};

// What a living manifest says to a user.
ObjectInfo InfoOf(const Manifest& manifest);

}  // namespace ers::store

#endif  // ERS_STORE_OBJECTS_STORE_H_
