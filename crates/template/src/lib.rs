//! Source, render request and rendered file, shared by the dialects.
