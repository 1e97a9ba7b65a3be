// The library's front door: a Cluster per process, a Client per thread.
//
//   auto cluster = ers::Cluster::Open({.servers = "10.0.0.1:11211,..."});
//   auto client = ers::Client::Open(*cluster, {});
//   (*client)->Put("key", bytes, {});
//
// Every change (Put, Update, Append, Delete, Transition) is atomic: whatever
// dies in the middle, readers see the old object or the new one, whole.
//   - success: it is stored, and survives while no more than m servers are
//     out, those that were out already counted (docs/guides/promises.md);
//   - kOutcomeUnknown: old or new, whole; later reads agree with each other;
//   - any other failure: the old object stands.
//
// Fork: a Cluster or Client may not be used in a child process after fork(2);
// open new ones there.
#ifndef ERS_CLIENT_H_
#define ERS_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ers/export.h"
#include "ers/garbage.h"
#include "ers/list.h"
#include "ers/object_info.h"
#include "ers/options.h"
#include "ers/rebuild.h"
#include "ers/scheme.h"
#include "ers/status.h"
#include "ers/value.h"
#include "ers/verify.h"

namespace ers {

// "0.1.0". Static storage.
ERS_API std::string_view Version();

// One process's share of a cluster: the members and the view of which are up.
// Any thread; its Clients keep it alive.
class ERS_API Cluster {
 public:
  // Checks the options; does not connect. kInvalidArgument names the option.
  static Result<std::shared_ptr<Cluster>> Open(ClusterOptions options);
  virtual ~Cluster() = default;
  [[nodiscard]] virtual const ClusterOptions& options() const = 0;

 protected:
  Cluster() = default;
};

// Blocking calls. A Client has its own connections and runs its loop inside
// its calls: one thread at a time (the caller's duty); open one Client per
// thread on the shared Cluster to work in parallel. A call also ends what it
// began that other Clients wait for, so that one may rest as long as it likes.
//
// Keys are 1 to 250 bytes without spaces or control characters, else
// kInvalidArgument. Buffers passed in are read during the call only, those
// passed out belong to the caller. Common failures: kUnavailable (too many
// servers silent), kIncompatible, kNotManaged, kUnsupportedFormat,
// kCorruption.
class ERS_API Client {
 public:
  // kInvalidArgument names the option; does not connect.
  static Result<std::unique_ptr<Client>> Open(std::shared_ptr<Cluster> cluster,
                                              ClientOptions options);
  virtual ~Client() = default;

  // Stores `value` under `key`, replacing what is there. kTooLarge over
  // kMaxValueBytes; kConflict: expected_cas did not match, or only_if_absent
  // and there is one; kNoMemory: nothing was left behind.
  virtual Result<ObjectInfo> Put(std::string_view key,
                                 std::span<const std::byte> value,
                                 const PutOptions& options) = 0;
  // The same from a source, in bounded memory (a few groups).
  virtual Result<ObjectInfo> PutFrom(std::string_view key, const Source& source,
                                     const PutOptions& options) = 0;

  // Reads the whole value. On a miss (kNotFound) or failure `value` is empty.
  // kTooLarge: `value` is in memory of the caller's that has no room for it.
  virtual Result<GetInfo> Get(std::string_view key, Value& value) = 0;
  // Reads bytes [offset, offset + length), cut at the end of the value.
  // kInvalidArgument where offset is beyond the end.
  virtual Result<GetInfo> GetRange(std::string_view key, std::uint64_t offset,
                                   std::uint64_t length, Value& value) = 0;
  // Streams the value in order, in bounded memory. `begin` is called once
  // before the first byte. On a failure after that the sink has seen a prefix
  // of one version of the value, never a mix.
  virtual Result<GetInfo> GetTo(
      std::string_view key, const std::function<void(const GetInfo&)>& begin,
      const Sink& sink) = 0;

  // Overwrites bytes [offset, offset + bytes.size()) of an existing value.
  // kNotFound; kInvalidArgument where that reaches beyond the end.
  virtual Result<ObjectInfo> Update(std::string_view key, std::uint64_t offset,
                                    std::span<const std::byte> bytes) = 0;
  // Adds bytes at the end of an existing value; rewrites its last group only.
  virtual Result<ObjectInfo> Append(std::string_view key,
                                    const Source& source) = 0;

  // kNotFound where there was nothing.
  virtual Status Delete(std::string_view key) = 0;

  // Turns an object into the plain memcached item that clients without this
  // library find: under the same key, on the server where the placement of
  // the cluster puts it, with client flags and expiry, whole and without
  // redundancy. Its CAS is the server's then; marks (stale, won) are lost.
  // Whatever dies in the middle, the key reads as the object or as the item.
  // kTooLarge for the server's item limit; kAlreadyThere: it is a plain item;
  // kConflict: another plain item is at the key, too; kInvalidArgument for keys
  // and values that no plain item can have; kUnavailable where that server is
  // out. The result is what the object was.
  virtual Result<ObjectInfo> Export(std::string_view key, ExportMode mode) = 0;

  // Changes an object's width, m or scheme while reads and updates go on; its
  // content, client flags, CAS and expiry stay. kAlreadyThere where there is
  // nothing to do; kInvalidArgument for a width of a scheme that is not
  // elastic.
  virtual Result<TransitionInfo> Transition(std::string_view key,
                                            const TransitionTarget& target,
                                            TransitionVariant variant) = 0;

  // The manifest, and whether each block it names is there.
  virtual Result<ObjectDetail> Stat(std::string_view key) = 0;

  // Calls `visit` for every object, in no order, each once; it returns false
  // to stop. Objects that change meanwhile may be seen or not.
  virtual Status List(
      const std::function<bool(std::string_view key, const ObjectInfo&)>& visit,
      const ListOptions& options = {}) = 0;

  // The view, and which servers answer right now with the memory it knows.
  virtual Result<ClusterInfo> Servers() = 0;

  // Checks every block on every server that is not out, and drops those that
  // killed processes and the like have left. A server that does not answer is
  // no failure: blocks that cannot be decided without it are skipped.
  virtual Result<GarbageReport> CollectGarbage(
      const GarbageOptions& options) = 0;

  // Lets servers that lost their memory, and answer again, back into the
  // cluster, and gives them all that they should hold; goes on where another
  // rebuild was cut off. Any number of processes may do so, beside processes
  // that make changes. OK where one of those servers is in sync now, or none
  // was out; kUnavailable where it could not be finished: try again.
  virtual Result<RebuildReport> Rebuild(const RebuildOptions& options) = 0;

  // Gives the place of a server to another one, which is empty: no other block
  // moves. What the old one held is lost with it, and is put on the new one by
  // Rebuild, or a daemon; until then it counts as out. OK as well where that
  // was done before. Other processes follow, and may be given either of the
  // two until the place changes hands once more. kInvalidArgument: the old
  // one is no server of the cluster, the new one is, or holds items;
  // kUnavailable: the new one does not answer, or too few others are in sync;
  // kConflict: another process has given the place to a third one; kNotFound:
  // the cluster was never used.
  virtual Status Replace(const std::string& old_server,
                         const std::string& new_server) = 0;

  // Goes on where more servers are out than the cluster survives, and some of
  // them do not answer: for a person to call, sure that those are dead. Each
  // gets an empty server in its place, and all that they held is gone; values
  // are left where `agree`, which is given the loss and may refuse, shows so.
  // Waits 2.5 s at most for processes that may still go by what was lost. OK as
  // well where that was done before. No server that comes back brings old
  // values with it. kInvalidArgument: no more are out than the cluster
  // survives, one that does not answer has no successor, one that answers has,
  // or a new one holds items; kConflict: not agreed; kNotFound: no server that
  // answers knows the cluster; kUnavailable as of Replace.
  virtual Status Recover(const std::vector<Successor>& successors,
                         const std::function<bool(const Loss&)>& agree) = 0;

  // Reads every block of every object, and every copy of its manifest; checks
  // their checksums, parity against data, and that the copies agree. Without
  // `repair` it writes nothing. May run beside processes that make changes. OK
  // whatever is found; a failure means that not all was checked.
  virtual Result<VerifyReport> Verify(const VerifyOptions& options) = 0;

 protected:
  Client() = default;
};

}  // namespace ers

#endif  // ERS_CLIENT_H_
