//! Links, properties and identities resolved into one instance group.
