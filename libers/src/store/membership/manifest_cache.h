// ManifestCache: the manifests last seen of values in blocks, so that a GET can
// ask for blocks in the same round trip as for the manifest that must confirm
// them. A value that rides in its manifest has nothing to ask for beside it.
#ifndef ERS_STORE_MEMBERSHIP_MANIFEST_CACHE_H_
#define ERS_STORE_MEMBERSHIP_MANIFEST_CACHE_H_

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "store/format/manifest.h"

namespace ers::store {

// Least recently used, bounded in entries. A hint, never the truth. Loop
// thread only.
class ManifestCache {
 public:
  explicit ManifestCache(std::size_t capacity) : capacity_(capacity) {}

  // Null where the key is not known.
  std::shared_ptr<const Manifest> Find(std::string_view key);
  // An inline manifest only ends what was known of its key.
  void Insert(std::shared_ptr<const Manifest> manifest);
  void Erase(std::string_view key);

 private:
  using Order = std::list<std::shared_ptr<const Manifest>>;

  const std::size_t capacity_;
  Order order_;  // newest first
  // Views into the manifests' own keys.
  std::unordered_map<std::string_view, Order::iterator> places_;
};

}  // namespace ers::store

#endif  // ERS_STORE_MEMBERSHIP_MANIFEST_CACHE_H_
