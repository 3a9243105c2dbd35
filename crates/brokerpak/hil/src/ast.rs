//! The syntax tree.

use crate::error::Position;

/// An operator with two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// A constant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

/// A node and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) position: Position,
    pub(crate) kind: NodeKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NodeKind {
    Literal(Literal),
    Variable(String),
    /// The name of a variable, its place, and the key; the node's place is that of the bracket.
    Index(String, Position, Box<Node>),
    Call(String, Vec<Node>),
    /// Operators of one precedence, applied from left to right: a long sum is not a deep tree.
    Chain(Box<Node>, Vec<(Operator, Node)>),
    Conditional(Box<[Node; 3]>),
    /// Text with interpolated expressions.
    Output(Vec<Node>),
}
