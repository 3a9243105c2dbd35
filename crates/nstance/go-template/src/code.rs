//! A parsed template: instructions for a stack machine. No expression tree is kept: where a message shows an expression,
//! its text is read again ([`crate::context`]).

use crate::number::Constant;
use crate::token::Delimiters;

/// An expression of the text, as messages refer to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    /// Where its text is.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// The place that messages name, which is not always its start.
    pub(crate) pos: u32,
    /// Is it `{{template …}}`, from its name on?
    pub(crate) invocation: bool,
}

/// Fields behind a value: `.A.B`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    /// Its first field in [`Program::fields`].
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// Do arguments follow the last field, or does a value come through the pipe?
    pub(crate) arguments: bool,
}

/// A declaration of a variable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declaration {
    /// The name's number.
    pub(crate) name: u32,
    /// Its place in the frame of its template.
    pub(crate) slot: u32,
    /// The declaration of the same name that it hides.
    pub(crate) hidden: Option<u32>,
}

/// A `range`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Loop {
    /// Its first instruction per element.
    pub(crate) body: u32,
    /// Where it goes on if there are no elements.
    pub(crate) otherwise: u32,
    /// Where it goes on after the last element.
    pub(crate) after: u32,
    /// How many variables the frame has before the body's own.
    pub(crate) slots: u32,
    /// How many variables it sets: none, the element, or index and element.
    pub(crate) variables: u8,
    /// The declarations of these variables; they are the last two of the frame unless they are assigned to.
    pub(crate) index: u32,
    pub(crate) element: u32,
}

/// The values that are not read after a call.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unused {
    /// The dots by their depth: bit 0 is the template's own, bit 1 that of the outermost `with` or `range` around the call.
    pub(crate) dots: u64,
    /// The depth of the dot at the call.
    pub(crate) depth: u32,
    /// Which of these depths are those of a `with`.
    pub(crate) withs: u64,
    /// The variables by their places in the frame.
    pub(crate) variables: u64,
}

/// An invocation of a template by name.
#[derive(Debug, Clone)]
pub(crate) struct Invocation {
    pub(crate) name: Box<[u8]>,
    /// The definition of that name, if there is one.
    pub(crate) definition: Option<u32>,
    /// What need not be held while it runs.
    pub(crate) unused: Unused,
}

/// What is known to be wrong before the template is executed, and is an error only when it is reached.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Failure {
    Count {
        function: Function,
        got: u32,
    },
    /// Arguments behind the expression of this node.
    NonFunction(u32),
    NilCommand,
    NilToString,
    ExpectedString(u32),
    Overflow(u32),
    /// A variable that is not declared on the way here: its name's number.
    Undefined(u32),
}

/// Go's predefined functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    And,
    Call,
    Html,
    Index,
    Slice,
    Js,
    Len,
    Not,
    Or,
    Print,
    Printf,
    Println,
    Urlquery,
    Eq,
    Ge,
    Gt,
    Le,
    Lt,
    Ne,
}

impl Function {
    pub(crate) fn named(name: &[u8]) -> Option<Function> {
        Some(match name {
            b"and" => Function::And,
            b"call" => Function::Call,
            b"html" => Function::Html,
            b"index" => Function::Index,
            b"slice" => Function::Slice,
            b"js" => Function::Js,
            b"len" => Function::Len,
            b"not" => Function::Not,
            b"or" => Function::Or,
            b"print" => Function::Print,
            b"printf" => Function::Printf,
            b"println" => Function::Println,
            b"urlquery" => Function::Urlquery,
            b"eq" => Function::Eq,
            b"ge" => Function::Ge,
            b"gt" => Function::Gt,
            b"le" => Function::Le,
            b"lt" => Function::Lt,
            b"ne" => Function::Ne,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Function::And => "and",
            Function::Call => "call",
            Function::Html => "html",
            Function::Index => "index",
            Function::Slice => "slice",
            Function::Js => "js",
            Function::Len => "len",
            Function::Not => "not",
            Function::Or => "or",
            Function::Print => "print",
            Function::Printf => "printf",
            Function::Println => "println",
            Function::Urlquery => "urlquery",
            Function::Eq => "eq",
            Function::Ge => "ge",
            Function::Gt => "gt",
            Function::Le => "le",
            Function::Lt => "lt",
            Function::Ne => "ne",
        }
    }

    /// How many arguments it takes, and whether it takes more.
    pub(crate) fn arity(self) -> (u32, bool) {
        use Function::*;
        match self {
            Html | Js | Urlquery | Print | Println => (0, true),
            And | Or | Call | Index | Slice | Printf | Eq => (1, true),
            Len | Not => (1, false),
            Ne | Lt | Le | Gt | Ge => (2, false),
        }
    }

    /// Does it make a text that can be written to the output at once?
    pub(crate) fn writes_text(self) -> bool {
        use Function::*;
        matches!(self, Html | Js | Urlquery | Print | Printf | Println)
    }
}

/// An instruction. `node` is the expression that messages show from then on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// Write this part of the text.
    Text {
        start: u32,
        end: u32,
    },
    /// Write the value on top.
    Print,
    /// Write a field of dot.
    PrintField {
        chain: u32,
        node: u32,
    },
    Pop,
    /// Drop the value below the top.
    DropBelow,
    /// Push dot; `unwrap`: take it out of its interface.
    Dot {
        node: u32,
        unwrap: bool,
    },
    Constant {
        index: u32,
        node: u32,
    },
    Nil {
        node: u32,
    },
    Variable {
        slot: u32,
        declaration: u32,
        node: u32,
        unwrap: bool,
    },
    /// Push a field of dot.
    Field {
        chain: u32,
        node: u32,
        unwrap: bool,
    },
    VariableField {
        declaration: u32,
        chain: u32,
        node: u32,
        unwrap: bool,
    },
    /// Replace the top by a field of it. Messages show what made the top.
    Chain {
        chain: u32,
        unwrap: bool,
    },
    /// The top must be a string; [`KEEP`]: messages show the expression before.
    CheckString {
        node: u32,
    },
    /// Call a function; `piped`: the value below the arguments is the last argument.
    /// `callee`: the node of the first argument, for `call`.
    Call {
        function: Function,
        piped: bool,
        count: u32,
        node: u32,
        callee: u32,
    },
    /// Call a function that makes text, and write that.
    CallPrint {
        function: Function,
        piped: bool,
        count: u32,
        node: u32,
    },
    /// An argument of `and`, `or`: jump with it if it decides, else drop it. On the jump `skipped` declarations are not
    /// reached.
    Decide {
        or: bool,
        piped: bool,
        target: u32,
        skipped: u32,
    },
    /// Take the top out of its interface; [`KEEP`]: messages show the expression before.
    Unwrap {
        node: u32,
    },
    /// Declare a variable with the value on top, which stays.
    Declare,
    Assign {
        slot: u32,
        declaration: u32,
    },
    Jump {
        target: u32,
    },
    JumpIfFalse {
        target: u32,
    },
    /// Make the top dot if it is true, else drop it and jump.
    With {
        target: u32,
    },
    EndWith,
    /// Forget the variables from this slot on.
    Forget {
        slot: u32,
    },
    Range {
        index: u32,
    },
    Next {
        index: u32,
    },
    Break {
        index: u32,
    },
    /// Is the template defined, and is there room to call it?
    Lookup {
        invocation: u32,
        node: u32,
    },
    /// Call it with the top as dot, or with none.
    Invoke {
        invocation: u32,
        argument: bool,
    },
    Return,
    /// Report a mistake; without a node of its own at the expression before.
    Fail {
        failure: u32,
        node: u32,
    },
}

/// The node that leaves the expression before in place.
pub(crate) const KEEP: u32 = u32::MAX;

/// A template of the text, the main one or a defined one.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: Box<[u8]>,
    pub(crate) code: Vec<Op>,
    /// Has it nothing but white space and comments?
    pub(crate) empty: bool,
}

/// A constant: a number or text, in the template's text or as it was unquoted.
#[derive(Debug, Clone)]
pub(crate) enum Literal {
    Bool(bool),
    Number(Constant),
    Text(Box<[u8]>),
}

/// All that was parsed.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: Box<[u8]>,
    pub(crate) text: Box<[u8]>,
    pub(crate) delimiters: Delimiters,
    pub(crate) nodes: Vec<Node>,
    pub(crate) chains: Vec<Chain>,
    /// Field names, as parts of the text.
    pub(crate) fields: Vec<(u32, u32)>,
    pub(crate) literals: Vec<Literal>,
    pub(crate) declarations: Vec<Declaration>,
    /// Names of variables, as parts of the text; `$` is the first.
    pub(crate) names: Vec<Box<[u8]>>,
    pub(crate) loops: Vec<Loop>,
    pub(crate) invocations: Vec<Invocation>,
    pub(crate) failures: Vec<Failure>,
    pub(crate) definitions: Vec<Definition>,
    /// The definition that is executed.
    pub(crate) main: u32,
}

/// The number of the line of a place, from 1, and the place in it, from 0.
pub(crate) fn line_and_column(text: &[u8], pos: u32) -> (u32, u32) {
    let before = &text[..pos as usize];
    let line = memchr::memchr_iter(b'\n', before).count();
    let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    (line as u32 + 1, (before.len() - start) as u32)
}
