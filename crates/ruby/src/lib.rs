//! The embedded CRuby: start, one protected entry, Psych with positions.
