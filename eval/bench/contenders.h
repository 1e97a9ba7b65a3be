// The contenders there are; callers go through MakeContender.
#ifndef ERS_EVAL_BENCH_CONTENDERS_H_
#define ERS_EVAL_BENCH_CONTENDERS_H_

#include <memory>
#include <string>

#include "bench/contender.h"

namespace ers::bench {

enum class GetMemory { kFresh, kReused };

// ers::Client with `scheme`, and values in `unit` as far as it can be;
// transitions by the scheme's optimal plan.
Result<std::unique_ptr<Contender>> MakeLibraryContender(
    std::string name, const Field& field, const Scheme& scheme,
    GetMemory memory, Unit unit = Unit::kBlocks);

// ers::Client moving between rs:K,M and rs:KP,M: everything is read and
// written anew, by the same executor and under the same commit.
Result<std::unique_ptr<Contender>> MakeReencodeContender(const Field& field);
// Two that go from field.scheme, elastic, to `to` parity blocks (forward) and
// back: `libers` adds and drops parity, `reencode` writes everything anew, as
// it comes from, and goes to, another placement.
Result<std::vector<std::unique_ptr<Contender>>> MakeParityContenders(
    const Field& field, int to);

// `copies` whole values by libmemcached, one acknowledged set after another;
// reads the first.
Result<std::unique_ptr<Contender>> MakeCopiesContender(std::string name,
                                                       const Field& field,
                                                       int copies);

// The field's scheme, its blocks set and read one after another by
// libmemcached, as the ERS paper's prototype does; no manifest, checksum or
// commit.
Result<std::unique_ptr<Contender>> MakeOneByOneContender(const Field& field);

// The same items as the library's on the same servers, by bare sockets all at
// once: the floor. Parity has as many bytes, and none is computed; no
// checksums, and no commit.
Result<std::unique_ptr<Contender>> MakeBareContender(std::string name,
                                                     const Field& field,
                                                     Unit unit);

}  // namespace ers::bench

#endif  // ERS_EVAL_BENCH_CONTENDERS_H_
