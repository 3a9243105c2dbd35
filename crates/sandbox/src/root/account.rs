//! The users of a sandbox.

use crate::ids::Ids;

/// `/etc/passwd`: BOSH's `vcap`, which is another name of root where no second id is mapped.
pub(super) fn passwd(ids: Ids) -> String {
    let vcap = vcap(ids);
    format!(
        "root:x:0:0:root:/root:/bin/bash\nvcap:x:{vcap}:{vcap}:BOSH System User:/home/vcap:/bin/bash\n\
         nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    )
}

/// `/etc/group`.
pub(super) fn group(ids: Ids) -> String {
    format!("root:x:0:\ntty:x:5:\nvcap:x:{}:\nnogroup:x:65534:\n", vcap(ids))
}

/// BOSH's stemcells give vcap these numbers.
fn vcap(ids: Ids) -> u32 {
    match ids {
        Ids::Host | Ids::Range => 1000,
        Ids::Single => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vcap_is_a_user_of_its_own_wherever_there_is_one_to_be_had() {
        assert!(passwd(Ids::Host).contains("\nvcap:x:1000:1000:"));
        assert!(group(Ids::Range).contains("\nvcap:x:1000:\n"));
        assert!(passwd(Ids::Single).contains("\nvcap:x:0:0:"));
    }
}
