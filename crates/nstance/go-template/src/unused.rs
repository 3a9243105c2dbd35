//! Which values of a template nothing reads after it has called another one. They need not be held while that one runs, so that
//! only what is alive counts as memory, however deep templates call each other.
//!
//! A value counts as read if any instruction reads it that comes later in the text, or stands in a loop around the call.

use crate::code::{Declaration, Loop, Op, Unused};

/// So many dots and variables of a template are told apart; all others count as read.
const MAX_TRACKED: u32 = u64::BITS;

/// No part.
const NONE: u32 = u32::MAX;

/// What instructions read.
#[derive(Debug, Clone, Copy, Default)]
struct Reads {
    dots: u64,
    variables: u64,
}

impl Reads {
    fn add(&mut self, other: Reads) {
        self.dots |= other.dots;
        self.variables |= other.variables;
    }
}

/// The body of a `with` or `range`.
struct Part {
    end: u32,
    parent: u32,
    /// The depth of its dot.
    depth: u32,
    withs: u64,
    /// The number of variables of the frame before a loop's own.
    outer_variables: Option<u32>,
    reads: Reads,
}

fn bit(place: u32) -> u64 {
    1u64.checked_shl(place).unwrap_or(0)
}

/// The bits below a place.
fn below(place: u32) -> u64 {
    bit(place).wrapping_sub(1)
}

/// The variables that a read of each declaration may read: its own, and those that it hides.
pub(crate) fn read_by(declarations: &[Declaration]) -> Vec<u64> {
    let mut masks: Vec<u64> = Vec::with_capacity(declarations.len());
    for declaration in declarations {
        let hidden = declaration.hidden.map_or(0, |hidden| masks[hidden as usize]);
        masks.push(bit(declaration.slot) | hidden);
    }
    masks
}

/// The calls in the instructions of a template: the number of each, and what is not read after it. `read_by` is that of all
/// declarations.
pub(crate) fn after_calls(code: &[Op], loops: &[Loop], read_by: &[u64]) -> Vec<(u32, Unused)> {
    if !code.iter().any(|op| matches!(op, Op::Invoke { .. })) {
        return Vec::new();
    }
    let (parts, inside) = parts(code, loops, read_by);
    let depth_of = |part: u32| parts.get(part as usize).map_or(0, |part| part.depth);
    let mut later = Reads::default();
    let mut calls = Vec::new();
    for (op, part) in code.iter().zip(&inside).rev() {
        let depth = depth_of(*part);
        match op {
            Op::Invoke { invocation, .. } => {
                let around = parts.get(*part as usize);
                let mut read = around.map_or(Reads::default(), |part| part.reads);
                read.add(later);
                let tracked = if depth < MAX_TRACKED { bit(depth) | below(depth) } else { 0 };
                let withs = around.map_or(0, |part| part.withs);
                calls.push((
                    *invocation,
                    Unused { dots: tracked & !read.dots, depth, withs, variables: !read.variables },
                ));
            }
            // The dots of another `with` or `range` are others.
            Op::With { .. } | Op::Range { .. } => later.dots &= !bit(depth + 1),
            _ => {}
        }
        later.add(reads(*op, depth, loops, read_by));
    }
    calls
}

/// The parts in the order in which they begin, and the innermost part around each instruction. The reads of a part become those
/// of all loops around its end that see values from outside themselves.
fn parts(code: &[Op], loops: &[Loop], read_by: &[u64]) -> (Vec<Part>, Vec<u32>) {
    let mut parts: Vec<Part> = Vec::new();
    let mut inside = Vec::with_capacity(code.len());
    let mut current = NONE;
    for (at, op) in code.iter().enumerate() {
        while let Some(part) = parts.get(current as usize)
            && part.end as usize <= at
        {
            current = close(&mut parts, current);
        }
        inside.push(current);
        let depth = parts.get(current as usize).map_or(0, |part| part.depth);
        if let Some(part) = parts.get_mut(current as usize) {
            part.reads.add(reads(*op, depth, loops, read_by));
        }
        let (end, outer_variables) = match op {
            Op::With { target } => (*target, None),
            Op::Range { index } => {
                let info = &loops[*index as usize];
                (info.otherwise, Some(info.slots))
            }
            _ => continue,
        };
        let withs = parts.get(current as usize).map_or(0, |part| part.withs);
        let own = if outer_variables.is_none() { bit(depth + 1) } else { 0 };
        // Its reads begin with those of the loop itself: each turn sets the loop's variables.
        let reads = reads(*op, depth, loops, read_by);
        parts.push(Part { end, parent: current, depth: depth + 1, withs: withs | own, outer_variables, reads });
        current = parts.len() as u32 - 1;
    }
    while current != NONE {
        current = close(&mut parts, current);
    }
    // From what a part reads to what the loops around a place in it read.
    for at in 0..parts.len() {
        let Part { parent, depth, outer_variables, mut reads, .. } = parts[at];
        match outer_variables {
            Some(outer) => {
                reads.dots &= below(depth);
                reads.variables &= below(outer);
            }
            None => reads = Reads::default(),
        }
        if let Some(parent) = parts.get(parent as usize) {
            reads.add(parent.reads);
        }
        parts[at].reads = reads;
    }
    (parts, inside)
}

/// Adds the reads of a part to those of the part around it, which is returned.
fn close(parts: &mut [Part], part: u32) -> u32 {
    let Part { parent, depth, mut reads, .. } = parts[part as usize];
    reads.dots &= below(depth);
    if let Some(parent) = parts.get_mut(parent as usize) {
        parent.reads.add(reads);
    }
    parent
}

/// What an instruction reads where the dot has this depth.
fn reads(op: Op, depth: u32, loops: &[Loop], read_by: &[u64]) -> Reads {
    match op {
        Op::Dot { .. } | Op::Field { .. } | Op::PrintField { .. } => Reads { dots: bit(depth), variables: 0 },
        Op::Variable { declaration, .. } | Op::VariableField { declaration, .. } | Op::Assign { declaration, .. } => {
            Reads { dots: 0, variables: read_by[declaration as usize] }
        }
        Op::Range { index } | Op::Next { index } => {
            let info = &loops[index as usize];
            let set =
                if info.variables > 0 { read_by[info.index as usize] | read_by[info.element as usize] } else { 0 };
            Reads { dots: 0, variables: set }
        }
        _ => Reads::default(),
    }
}
