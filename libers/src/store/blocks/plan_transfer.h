// Transfer: one block on its way, for the two files of PlanExecutor.
#ifndef ERS_STORE_BLOCKS_PLAN_TRANSFER_H_
#define ERS_STORE_BLOCKS_PLAN_TRANSFER_H_

#include <array>
#include <cstddef>
#include <string>

#include "net/request.h"
#include "store/blocks/plan_executor.h"
#include "store/format/block_header.h"
#include "store/membership/send.h"

namespace ers::store {

// One block on its way from or to its member.
struct PlanExecutor::Transfer {
  PlanExecutor* run = nullptr;
  SendStep step = SendStep::kReadBlock;
  layout::BlockId block = 0;
  int member = 0;
  bool retried = false;
  net::TimePoint asked_at;
  std::size_t told = 0;  // bytes that came, as far as is counted
  std::string key;
  BlockHeaderBytes header;
  std::array<iovec, 2> item;  // header and payload
  net::Request request;
};

}  // namespace ers::store

#endif  // ERS_STORE_BLOCKS_PLAN_TRANSFER_H_
