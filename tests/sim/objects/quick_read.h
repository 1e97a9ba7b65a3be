// A get as a proxy asks for it: without a coroutine as far as that goes.
#ifndef ERS_TESTS_SIM_OBJECTS_QUICK_READ_H_
#define ERS_TESTS_SIM_OBJECTS_QUICK_READ_H_

#include <string>

#include "ers/object_info.h"
#include "ers/value.h"
#include "net/task.h"
#include "store/objects/store.h"

namespace ers::sim {

// Store::BeginGet, and GetUpTo where that is no hit. `hits`, where not null,
// counts those that are. All outlive it.
net::Task<Result<GetInfo>> QuickRead(store::Store& store,
                                     const std::string& key, Value& value,
                                     int* hits = nullptr);

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_OBJECTS_QUICK_READ_H_
