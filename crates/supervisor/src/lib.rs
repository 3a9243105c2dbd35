//! Supervising one process: pure state machine and the system calls below it.
