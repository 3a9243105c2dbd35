//! The input vocabulary: values, manifest, job spec, names, identities.
