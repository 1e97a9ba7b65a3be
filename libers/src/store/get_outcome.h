// What the ways to GET have in common: how often they try, and how they end.
#ifndef ERS_STORE_GET_OUTCOME_H_
#define ERS_STORE_GET_OUTCOME_H_

#include <string_view>

#include "ers/object_info.h"
#include "ers/status.h"
#include "store/manifest.h"
#include "store/object_reader.h"

namespace ers::store {

// How often a GET starts over because the object changed under it.
inline constexpr int kGetRestarts = 16;

GetInfo GetInfoOf(const Manifest& manifest, const ReadOutcome& read);
Status GetMiss(std::string_view key);
Status GetKeptChanging(std::string_view key);

}  // namespace ers::store

#endif  // ERS_STORE_GET_OUTCOME_H_
