//! The addresses of instances in the network of a deployment.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use problem::{Problem, Result};
use sandbox::Subnet;

/// Which instance has which address; an instance keeps its address as long as it belongs to the deployment.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    subnet: Subnet,
    taken: BTreeMap<String, Ipv4Addr>,
}

impl Addresses {
    /// With the addresses that instances had before.
    pub(crate) fn new(taken: BTreeMap<String, Ipv4Addr>) -> Addresses {
        Addresses { subnet: Subnet::default(), taken }
    }

    /// Gives every instance an address, and frees those of all others.
    ///
    /// # Errors
    /// Too many instances for one machine.
    pub(crate) fn assign<'a>(&mut self, instances: impl IntoIterator<Item = &'a str>) -> Result<()> {
        let names: Vec<&str> = instances.into_iter().collect();
        let wanted: BTreeSet<&str> = names.iter().copied().collect();
        self.taken.retain(|name, _| wanted.contains(name.as_str()));
        let used: BTreeSet<Ipv4Addr> = self.taken.values().copied().collect();
        let mut next = 0;
        for name in names {
            if self.taken.contains_key(name) {
                continue;
            }
            let address = loop {
                let address = self
                    .subnet
                    .instance(next)
                    .ok_or_else(|| Problem::input("the deployment has too many instances for one machine"))?;
                next += 1;
                if !used.contains(&address) {
                    break address;
                }
            };
            self.taken.insert(name.to_owned(), address);
        }
        Ok(())
    }

    /// The address of an instance.
    pub(crate) fn of(&self, instance: &str) -> Option<Ipv4Addr> {
        self.taken.get(instance).copied()
    }

    /// All of them, by instance.
    pub(crate) fn all(&self) -> &BTreeMap<String, Ipv4Addr> {
        &self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_keeps_its_address_and_a_new_one_gets_a_free_one() {
        let address = |n| Some(Ipv4Addr::new(10, 244, 0, n));
        let mut addresses = Addresses::default();
        addresses.assign(["a/0", "a/1", "b/0"]).unwrap();
        assert_eq!(
            [addresses.of("a/0"), addresses.of("a/1"), addresses.of("b/0")],
            [address(2), address(3), address(4)]
        );
        addresses.assign(["a/0", "b/0"]).unwrap();
        assert_eq!(addresses.of("a/1"), None);
        addresses.assign(["c/0", "c/1", "a/0", "b/0"]).unwrap();
        assert_eq!([addresses.of("c/0"), addresses.of("c/1")], [address(3), address(5)]);
        assert_eq!([addresses.of("a/0"), addresses.of("b/0")], [address(2), address(4)]);
    }
}
