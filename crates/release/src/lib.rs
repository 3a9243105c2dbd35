//! A release as source directory; compiling packages.
