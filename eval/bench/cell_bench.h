// `ers-bench samples`: every timed operation of an experiment's cells, one by
// one, with the bytes that it moved. What is made of them is eval/run's.
#ifndef ERS_EVAL_BENCH_CELL_BENCH_H_
#define ERS_EVAL_BENCH_CELL_BENCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/contender.h"
#include "bench/wire_tap.h"

namespace ers::bench {

// One way to hold objects of one size, and what of it is timed.
struct Cell {
  std::string way;  // of CellWays(), or a chain as "ers:4-6-12"
  int k = 0;
  int m = 0;
  int kp = 0;
  std::size_t object_bytes = 0;
  std::size_t threshold_bytes = 0;  // shorter values are kept as whole copies
  std::vector<Case> cases;          // not kUpdate
};

// "rep", "libmemcached-copies", "rs", "srs", "ers1", ...
std::vector<std::string> CellWays();

// "WAY,K,M,KP,BYTES,THRESHOLD,CASE+CASE...". Of a chain K and KP are two of its
// widths, and a put is not timed. kInvalidArgument quotes the text.
Result<Cell> ParseCell(std::string_view text);

struct CellOptions {
  std::string servers;
  std::vector<Cell> cells;
  int repetitions = 10;
  int warm_ups = 1;
  std::uint64_t seed = 0;
  // A cell that took longer has no further repetitions.
  double cell_seconds = 60;
  // Of this machine, whose bytes are counted; empty: none.
  std::string interface;
  std::function<bool()> stopped;
};

struct CellSample {
  std::size_t cell = 0;  // of the options
  Case test_case = Case::kPut;
  int repetition = 0;
  double seconds = 0;
  Traffic traffic;
  std::uint64_t interface_in = 0;
  std::uint64_t interface_out = 0;
};

// In each repetition the cells take turns in an order shuffled from the seed:
// each puts a value under the same key, so that all have the same servers, goes
// through its cases, and removes it. Values are read back and compared in the
// warm-ups and the last repetition, untimed. kCorruption: another value came
// back, or the bytes could not be assigned.
Result<std::vector<CellSample>> RunCells(const CellOptions& options);

// CSV: the cell, operation,repetition,seconds,blocks_read,blocks_written,
// block_bytes,payload_in,payload_out,socket_in,socket_out,interface_in,
// interface_out. Empty: not counted.
std::string RenderCells(const CellOptions& options,
                        const std::vector<CellSample>& samples);

}  // namespace ers::bench

#endif  // ERS_EVAL_BENCH_CELL_BENCH_H_
