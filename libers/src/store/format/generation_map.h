// GenerationMap: which generation each block of an object has, as runs.
#ifndef ERS_STORE_FORMAT_GENERATION_MAP_H_
#define ERS_STORE_FORMAT_GENERATION_MAP_H_

#include <cstdint>
#include <vector>

#include "store/format/change_id.h"

namespace ers::store {

// Block positions [0, size()); the zero ChangeId marks a block that was never
// staged. A value type; adjacent runs always differ.
class GenerationMap {
 public:
  struct Run {
    std::uint32_t first;
    ChangeId generation;
    bool operator==(const Run&) const = default;
  };

  GenerationMap() = default;
  GenerationMap(std::uint32_t size, const ChangeId& generation);

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] ChangeId at(std::uint32_t position) const;
  void Set(std::uint32_t position, const ChangeId& generation);
  // Grows or cuts the map; new positions get `generation`.
  void Resize(std::uint32_t size, const ChangeId& generation);
  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }
  bool operator==(const GenerationMap&) const = default;

 private:
  void AppendRun(std::uint32_t first, const ChangeId& generation);

  std::uint32_t size_ = 0;
  std::vector<Run> runs_;
};

}  // namespace ers::store

#endif  // ERS_STORE_FORMAT_GENERATION_MAP_H_
