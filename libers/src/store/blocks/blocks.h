// Groups of blocks, by plans: read, decoded, written, restored, dropped, given
// a longer life. Entry points: PlanExecutor, ObjectReader, ObjectWriter,
// ObjectRepair, ExtendBlocks. Nothing that writes a manifest may come in.
//
// A run is made of BlockBuffers (where each block is in memory), MissingBlocks
// (what a plan has to do without), Hedge (what it can do without sooner),
// BlockReader, PlanSteps and BlockWriter.
// PlanExecutor puts them together for a group that is stored, GroupPut for one
// of a value that comes.
#ifndef ERS_STORE_BLOCKS_BLOCKS_H_
#define ERS_STORE_BLOCKS_BLOCKS_H_
#endif  // ERS_STORE_BLOCKS_BLOCKS_H_
