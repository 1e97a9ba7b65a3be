// Runs the Python program that draws the figures.
#ifndef ERS_ANALYSIS_SCRIPT_H_
#define ERS_ANALYSIS_SCRIPT_H_

#include <string>
#include <vector>

#include "ers/status.h"

namespace ers::analysis {

// Where figures.py lies, seen from this executable (build or install tree).
// kNotFound names the place where it should be.
Result<std::string> FindFiguresScript();

// Runs `arguments` (the first one is the program, searched on PATH) with our
// output and error streams and waits for its end. kUnavailable: it cannot be
// started, or it ended with another code than 0, having said why.
Status RunProgram(const std::vector<std::string>& arguments);

}  // namespace ers::analysis

#endif  // ERS_ANALYSIS_SCRIPT_H_
