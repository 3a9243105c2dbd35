//! Putting certificates behind the authorities that sign them.

/// The order in which nodes follow their parents; `parents[i]` is the parent of node `i`.
///
/// # Errors
/// Every cycle, as the nodes in it.
pub(crate) fn sorted(parents: &[Option<usize>]) -> Result<Vec<usize>, Vec<Vec<usize>>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; parents.len()];
    let (mut order, mut cycles) = (Vec::new(), Vec::new());
    for start in 0..parents.len() {
        let mut path = Vec::new();
        let mut next = Some(start);
        while let Some(node) = next.filter(|node| marks[*node] == Mark::New) {
            marks[node] = Mark::Open;
            path.push(node);
            next = parents[node];
        }
        if let Some(node) = next.filter(|node| marks[*node] == Mark::Open) {
            let from = path.iter().position(|known| *known == node).unwrap_or(0);
            cycles.push(path[from..].to_vec());
        }
        for node in path.into_iter().rev() {
            marks[node] = Mark::Done;
            order.push(node);
        }
    }
    if cycles.is_empty() { Ok(order) } else { Err(cycles) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_cycle_is_found_once() {
        assert_eq!(sorted(&[Some(0)]), Err(vec![vec![0]]));
        assert_eq!(sorted(&[Some(1), Some(2), Some(1), Some(0), None]), Err(vec![vec![1, 2]]));
        assert_eq!(sorted(&[Some(1), Some(0), Some(3), Some(2)]), Err(vec![vec![0, 1], vec![2, 3]]));
    }

    proptest! {
        #[test]
        fn parents_come_first(above in prop::collection::vec(any::<prop::sample::Index>(), 1..40), shuffle in any::<u64>()) {
            // A forest: each node's parent has a smaller number; then the numbers are exchanged.
            let count = above.len();
            let place = |i: usize| (i * 7919 + shuffle as usize % count) % count;
            prop_assume!(count % 7919 != 0);
            let mut parents = vec![None; count];
            for (i, above) in above.iter().enumerate().skip(1) {
                parents[place(i)] = Some(place(above.index(i)));
            }
            let order = sorted(&parents).unwrap();
            let position = |node: usize| order.iter().position(|known| *known == node).unwrap();
            prop_assert_eq!(order.len(), count);
            for (node, parent) in parents.iter().enumerate() {
                prop_assert!(parent.is_none_or(|parent| position(parent) < position(node)));
            }
        }
    }
}
