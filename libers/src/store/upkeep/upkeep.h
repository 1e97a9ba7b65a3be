// The cluster in the background: backfilling, rebuild, replacement,
// verification, garbage, evictions. Entry points: Backfill, Rebuild,
// ReplaceServer, Verifier, CollectGarbage, EvictionFollower. What a client's
// request waits for may not come in.
#ifndef ERS_STORE_UPKEEP_UPKEEP_H_
#define ERS_STORE_UPKEEP_UPKEEP_H_
#endif  // ERS_STORE_UPKEEP_UPKEEP_H_
