//! BOSH's template evaluation on the embedded CRuby.
