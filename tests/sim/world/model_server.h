// ModelServer: memcached 1.6.18 at the level of bytes, as far as this project
// talks to it. model_differential_test.cc holds it against the real one.
//
// Known: mg (v c f t s h l k q O N T u), ms (T F C M[SER] c k q O), md (C T I k
// q O), mn; get gets set add replace cas delete touch, version, verbosity,
// flush_all without a delay, stats, stats settings|items (only the lines that
// are read here), lru_crawler metadump hash|all (la, cls and fetch are
// constant), watch evictions (what is reported then is SimServer's to send).
// Anything else is answered with ERROR or "CLIENT_ERROR invalid flag".
#ifndef ERS_TESTS_SIM_WORLD_MODEL_SERVER_H_
#define ERS_TESTS_SIM_WORLD_MODEL_SERVER_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sim/world/model_items.h"

namespace ers::sim {

struct ModelServerOptions {
  std::uint64_t item_size_max = 1 << 20;
  bool evictions = true;
  // What it says of what it evicted, whatever that was: 0: nothing.
  int evicted_after_s = 0;
  std::string version = "1.6.18";
  std::chrono::seconds clock_ahead{};  // of the world's
};

// One command that changed something, or tried to: reported after it was
// applied.
struct AppliedCommand {
  std::uint64_t session = 0;  // Session::id
  std::string_view verb;      // "ms", "cas", "set", "add", "replace", "md",
                              // "delete", "touch", "vivify", "flush_all"
  std::string_view key;
  std::string_view value;  // what was to be stored
  std::uint64_t token_given = 0;
  bool applied = false;    // false: refused, see reply
  std::string_view reply;  // first word: "HD", "EXISTS", "SERVER_ERROR"...
};

// The protocol over ModelItems; one process life per Boot. One thread.
class ModelServer {
 public:
  // One connection's parser state. Plain data: it may be dropped any time.
  struct Session {
    std::uint64_t id = 0;
    std::string in;
    std::size_t head = 0;       // parsed part of `in`
    std::uint64_t swallow = 0;  // bytes of a refused value still to come
    std::string after_swallow;  // reply that waits for them
    bool closed = false;        // "quit"
    bool watches = false;       // "watch evictions": nothing more is answered

    bool storing = false;  // a storage command waits for its value
    std::string verb;
    std::string key;
    std::size_t bytes = 0;
    std::uint32_t flags = 0;
    std::int64_t exptime = 0;
    std::uint64_t token = 0;
    bool has_token = false;
    char mode = 'S';
    bool quiet = false;
    std::string echo;  // flags to return: "k", "c" and "O..." in order
  };

  ModelServer(ModelServerOptions options, int pid,
              std::function<std::int64_t()> wall_seconds);

  // Takes bytes as they come, in any pieces, and appends the replies.
  void Feed(Session& session, std::string_view bytes, std::string& out);

  // A new process: memory forgotten, tokens from 1, another pid and start.
  void Boot(int pid);

  // What "watch evictions" reports of an item that is there still.
  std::string EvictionLine(std::string_view key);

  ModelItems& items() { return *items_; }
  [[nodiscard]] int pid() const { return pid_; }
  ModelServerOptions& options() { return options_; }

  // Asked at each allocation, with the key; true: no memory for it.
  std::function<bool(std::string_view key)> out_of_memory;
  // Asked for each key of "metadump all"; true: the dump misses it, as the
  // real one misses items under way between its queues.
  std::function<bool(std::string_view key)> dump_misses;
  // Asked at each metadump; true: as if it were forbidden.
  std::function<bool()> dump_refused;
  // The same; true: BUSY.
  std::function<bool()> dump_busy;
  std::function<void(const AppliedCommand&)> on_applied;

 private:
  static constexpr std::size_t kMaxTokens = 24;
  struct Tokens {
    std::array<std::string_view, kMaxTokens> at;
    std::size_t count = 0;
  };
  static Tokens Split(std::string_view line);

  // False: more bytes are needed.
  bool Advance(Session& session, std::string& out);
  void Command(Session& session, std::string_view line, std::string& out);
  void TextCommand(Session& session, const Tokens& tokens, std::string& out);
  void FinishStore(Session& session, std::string_view value, std::string& out);

  void TextGet(const Tokens& tokens, bool with_token, std::string& out);
  void TextStore(Session& session, const Tokens& tokens, std::string& out);
  void TextDelete(Session& session, const Tokens& tokens, std::string& out);
  void TextTouch(Session& session, const Tokens& tokens, std::string& out);
  void FlushAll(Session& session, const Tokens& tokens, std::string& out);
  void MetaGet(Session& session, const Tokens& tokens, std::string& out);
  void MetaHit(const Tokens& tokens, ModelItem& item, bool created,
               bool with_value, std::string& out);
  void MetaSet(Session& session, const Tokens& tokens, std::string& out);
  void MetaDelete(Session& session, const Tokens& tokens, std::string& out);
  void Stats(const Tokens& tokens, std::string& out) const;
  void Crawler(const Tokens& tokens, std::string& out);

  // Starts reading the value, or refuses it as the real one does: by size or
  // memory, with the item already there deleted by "ms" and "set".
  void BeginStore(Session& session);
  void Refuse(Session& session, std::string_view reply);
  void Report(const Session& session, std::string_view verb,
              std::string_view key, std::string_view value, bool applied,
              std::string_view reply) const;

  ModelServerOptions options_;
  int pid_;
  std::function<std::int64_t()> wall_seconds_;
  std::unique_ptr<ModelItems> items_;
};

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_WORLD_MODEL_SERVER_H_
