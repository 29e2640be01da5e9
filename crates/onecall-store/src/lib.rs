//! What outlives a process: run records, learned shapes of results, cached answers.
