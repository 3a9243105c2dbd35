//! A local pod: namespaces, root file system, network.
