// Gets and puts as a proxy asks for them: without a coroutine as far as that
// goes.
#ifndef ERS_TESTS_SIM_OBJECTS_QUICK_CALLS_H_
#define ERS_TESTS_SIM_OBJECTS_QUICK_CALLS_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "ers/object_info.h"
#include "ers/options.h"
#include "ers/value.h"
#include "net/task.h"
#include "store/objects/store.h"

namespace ers::sim {

// Store::BeginGet, and GetUpTo where that is no hit. `hits`, where not null,
// counts those that are. All outlive it.
net::Task<Result<GetInfo>> QuickRead(store::Store& store,
                                     const std::string& key, Value& value,
                                     int* hits = nullptr);
// Store::BeginPut, and Put where that begins nothing. `ends`, where not null,
// counts those that it is the end of, too. All outlive it.
net::Task<Result<ObjectInfo>> QuickWrite(store::Store& store,
                                         std::string_view key,
                                         std::span<const std::byte> bytes,
                                         const PutOptions& options,
                                         int* ends = nullptr);

}  // namespace ers::sim

#endif  // ERS_TESTS_SIM_OBJECTS_QUICK_CALLS_H_
