// A look at the homes of a key that changes nothing: no lease is needed, nobody
// leaves the view, and homes that differ are left so.
#ifndef ERS_STORE_REPLICAS_HOME_LOOK_H_
#define ERS_STORE_REPLICAS_HOME_LOOK_H_

#include <memory>
#include <optional>
#include <string>

#include "net/task.h"
#include "store/replicas/home_chain.h"

namespace ers::store {

// What the homes show, under `view`; empty where one did not answer. Fails
// where no home is in sync, or an item makes no sense. Items of plain clients
// are told. `key` outlives the task.
net::Task<Result<std::optional<HomesRead>>> PeekAtHomes(
    Session& session, std::shared_ptr<const View> view, const std::string& key);

}  // namespace ers::store

#endif  // ERS_STORE_REPLICAS_HOME_LOOK_H_
