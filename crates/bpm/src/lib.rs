//! bpm.yml as typed, validated process configuration.
