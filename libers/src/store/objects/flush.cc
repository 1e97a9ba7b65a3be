#include "store/membership/view_changer.h"
#include "store/membership/view_loader.h"
#include "store/objects/store.h"

namespace ers::store {

net::Task<Status> Store::Flush(std::uint64_t time_us) {
  Status status = co_await EnsureView(session_);
  // In a cluster that was never used there is nothing to flush.
  if (status.code() == StatusCode::kNotFound) co_return Status();
  if (!status.ok()) co_return status;
  co_return co_await FlushBefore(session_, time_us);
}

}  // namespace ers::store
