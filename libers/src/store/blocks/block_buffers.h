// BlockBuffers: in which memory the blocks of a group are, and which of them
// are there.
#ifndef ERS_STORE_BLOCKS_BLOCK_BUFFERS_H_
#define ERS_STORE_BLOCKS_BLOCK_BUFFERS_H_

#include <cstddef>
#include <vector>

#include "layout/block_id.h"
#include "store/format/object_map.h"
#include "store/support/buffer_pool.h"

namespace ers::store {

// A block has up to three contents: what is stored, what a caller gives in its
// place, and, of parity, what is computed anew. Loop thread only.
class BlockBuffers {
 public:
  // Of one group of `map`. Both outlive it.
  BlockBuffers(BufferPool& pool, const ObjectMap& map, int group);
  ~BlockBuffers();
  BlockBuffers(const BlockBuffers&) = delete;
  BlockBuffers& operator=(const BlockBuffers&) = delete;

  // Of a data block.
  [[nodiscard]] std::size_t data_bytes() const { return data_bytes_; }

  // Where a stored block is read to, which outlives this. Blocks that were not
  // placed get memory of the pool.
  void Place(layout::BlockId block, std::byte* at);
  // New content of a data block, data_bytes() with its padding: an input of a
  // plan's steps, and staged where the plan writes it. It outlives this.
  void Give(layout::BlockId block, const std::byte* content);
  [[nodiscard]] const std::byte* Given(layout::BlockId block) const;

  // Stored content that is in hand; null where it is not.
  [[nodiscard]] const std::byte* Have(layout::BlockId block) const;
  // That, else parity that was computed; null where there is neither.
  [[nodiscard]] const std::byte* HaveOrComputed(layout::BlockId block) const;

  // For the parts of a run. Memory for stored content, and that it is there.
  std::byte* ForStored(layout::BlockId block);
  void SetHave(layout::BlockId block);
  // Memory for new parity, and that it is on its way to its member.
  std::byte* ForParity(layout::BlockId block);
  void SetSent(layout::BlockId block);
  [[nodiscard]] bool IsSent(layout::BlockId block) const;

 private:
  struct Entry {
    std::byte* stored = nullptr;
    std::byte* parity = nullptr;
    const std::byte* given = nullptr;
    bool have = false;  // stored content is in its memory
    bool sent = false;
  };

  std::byte* NewBuffer(layout::BlockId block);

  BufferPool& pool_;
  const ObjectMap& map_;
  const int group_;
  const std::size_t data_bytes_;
  std::vector<Entry> entries_;  // by block id
  std::vector<BufferPool::Buffer> owned_;
};

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_BLOCK_BUFFERS_H_
