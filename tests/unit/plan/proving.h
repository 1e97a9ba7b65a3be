// Proves one scheme's plans on bytes, in many patterns of what is missing.
#ifndef ERS_TESTS_UNIT_PLAN_PROVING_H_
#define ERS_TESTS_UNIT_PLAN_PROVING_H_

#include <cstddef>
#include <random>

#include "sanitized.h"
#include "unit/plan/naive_model.h"

namespace ers::plan {

inline constexpr int kExhaustiveBlocks = kSanitized ? 6 : 12;
inline constexpr int kSamples = kSanitized ? 1 : 20;
inline constexpr std::size_t kSampledChains = kSanitized ? 5 : 60;

// Fails the test unless every plan is right: with every set of up to m nodes
// dead or, not `exhaustive`, with none and in `samples` sets of dead nodes.
void ProveAll(const naive::Parameters& parameters, bool exhaustive, int samples,
              std::mt19937& random);

// Up to m blocks of each stripe are gone, whatever their nodes.
void ProveScattered(const naive::Parameters& parameters, int samples,
                    std::mt19937& random);

}  // namespace ers::plan

#endif  // ERS_TESTS_UNIT_PLAN_PROVING_H_
