// What the ways to GET have in common: how often they try, and how they end.
#ifndef ERS_STORE_OBJECTS_GET_OUTCOME_H_
#define ERS_STORE_OBJECTS_GET_OUTCOME_H_

#include <string_view>

#include "ers/object_info.h"
#include "ers/status.h"
#include "store/blocks/object_reader.h"
#include "store/format/manifest.h"

namespace ers::store {

// How often a GET starts over because the object changed under it.
inline constexpr int kGetRestarts = 16;

GetInfo GetInfoOf(const Manifest& manifest, const ReadOutcome& read);
Status GetMiss(std::string_view key);
Status GetKeptChanging(std::string_view key);

}  // namespace ers::store

#endif  // ERS_STORE_OBJECTS_GET_OUTCOME_H_
