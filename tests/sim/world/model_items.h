// ModelItems: what a model memcached remembers, with the real one's rules for
// expiry, tokens, flush and failed stores. No protocol, no network.
#ifndef ERS_TESTS_SIM_WORLD_MODEL_ITEMS_H_
#define ERS_TESTS_SIM_WORLD_MODEL_ITEMS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ers::sim {

struct ModelItem {
  std::string value;
  std::uint32_t flags = 0;
  std::uint32_t expires = 0;  // server seconds; 0 never
  std::uint64_t cas = 0;
  std::uint32_t accessed = 0;  // server seconds; also when it was stored
  bool fetched = false;
  bool stale = false;       // md with I: shown as X
  bool token_sent = false;  // one client got W: others get Z
};

// Lives as long as one server process. One thread.
class ModelItems {
 public:
  // `wall_seconds` gives seconds since the Unix epoch.
  explicit ModelItems(std::function<std::int64_t()> wall_seconds);

  // Server seconds now; they start at 62 in every process.
  [[nodiscard]] std::uint32_t Now() const;
  [[nodiscard]] std::int64_t Started() const { return started_; }
  // exptime as sent -> server seconds: 0 never, up to 30 days relative, above
  // absolute, negative or past: at once.
  [[nodiscard]] std::uint32_t ExpiryOf(std::int64_t exptime) const;

  // The live item; an expired one is dropped on the way.
  ModelItem* Find(std::string_view key);
  // Stores with a new token (also when it is expired on arrival).
  ModelItem& Put(std::string_view key, ModelItem item);
  bool Erase(std::string_view key);
  void Flush();
  std::uint64_t NextCas() { return next_cas_++; }

  // Bytes an item takes in the real server, its header included.
  static std::size_t StoredBytes(std::size_t key_bytes, std::size_t value_bytes,
                                 std::uint32_t flags);

  // In key order.
  [[nodiscard]] std::vector<std::string> LiveKeys() const;
  [[nodiscard]] std::size_t size() const { return items_.size(); }

 private:
  [[nodiscard]] bool IsLive(const ModelItem& item, std::uint32_t now) const {
    return item.expires == 0 || item.expires > now;
  }

  std::function<std::int64_t()> wall_seconds_;
  std::int64_t started_;
  std::uint64_t next_cas_ = 1;
  // Ordered, so that a run does not depend on a hash function.
  std::map<std::string, ModelItem, std::less<>> items_;
};

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_WORLD_MODEL_ITEMS_H_
