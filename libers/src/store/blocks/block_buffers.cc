#include "store/blocks/block_buffers.h"

#include <utility>

namespace ers::store {

using layout::BlockId;

BlockBuffers::BlockBuffers(BufferPool& pool, const ObjectMap& map, int group)
    : pool_(pool),
      map_(map),
      group_(group),
      data_bytes_(map.DataBytes(group)),
      entries_(static_cast<std::size_t>(map.geometry().block_id_count())) {}

BlockBuffers::~BlockBuffers() {
  for (BufferPool::Buffer& buffer : owned_) pool_.Return(std::move(buffer));
}

std::byte* BlockBuffers::NewBuffer(BlockId block) {
  owned_.push_back(pool_.Take(map_.BlockBytes(group_, block)));
  return owned_.back().bytes.get();
}

void BlockBuffers::Place(BlockId block, std::byte* at) {
  entries_[block].stored = at;
}

void BlockBuffers::Give(BlockId block, const std::byte* content) {
  entries_[block].given = content;
}

const std::byte* BlockBuffers::Given(BlockId block) const {
  return entries_[block].given;
}

const std::byte* BlockBuffers::Have(BlockId block) const {
  return entries_[block].have ? entries_[block].stored : nullptr;
}

const std::byte* BlockBuffers::HaveOrComputed(BlockId block) const {
  const std::byte* have = Have(block);
  return have != nullptr ? have : entries_[block].parity;
}

std::byte* BlockBuffers::ForStored(BlockId block) {
  std::byte*& at = entries_[block].stored;
  if (at == nullptr) at = NewBuffer(block);
  return at;
}

void BlockBuffers::SetHave(BlockId block) { entries_[block].have = true; }

std::byte* BlockBuffers::ForParity(BlockId block) {
  std::byte*& at = entries_[block].parity;
  if (at == nullptr) at = NewBuffer(block);
  return at;
}

void BlockBuffers::SetSent(BlockId block) { entries_[block].sent = true; }

bool BlockBuffers::IsSent(BlockId block) const { return entries_[block].sent; }

}  // namespace ers::store
