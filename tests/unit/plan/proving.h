// Proves one scheme's plans on bytes, in many patterns of what is missing.
#ifndef ERS_TESTS_UNIT_PLAN_PROVING_H_
#define ERS_TESTS_UNIT_PLAN_PROVING_H_

#include <cstddef>
#include <random>

#include "unit/plan/naive_model.h"

namespace ers::plan {

// Sanitizers slow plans down; there the rest is sampled, and the other builds
// prove it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ERS_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ERS_TEST_SANITIZED 1
#endif
#endif
#ifdef ERS_TEST_SANITIZED
inline constexpr int kExhaustiveBlocks = 6;
inline constexpr int kSamples = 2;
inline constexpr std::size_t kSampledChains = 5;
#else
inline constexpr int kExhaustiveBlocks = 12;
inline constexpr int kSamples = 20;
inline constexpr std::size_t kSampledChains = 60;
#endif

// Fails the test unless every plan is right: with every set of up to m nodes
// dead or, not `exhaustive`, with none and in `samples` sets of dead nodes.
void ProveAll(const naive::Parameters& parameters, bool exhaustive, int samples,
              std::mt19937& random);

// Up to m blocks of each stripe are gone, whatever their nodes.
void ProveScattered(const naive::Parameters& parameters, int samples,
                    std::mt19937& random);

}  // namespace ers::plan

#endif  // ERS_TESTS_UNIT_PLAN_PROVING_H_
