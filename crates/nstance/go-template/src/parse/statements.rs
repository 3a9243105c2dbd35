//! Actions: text, control structures, definitions.

use super::{Control, Parsed, Parser, Tree, TreeKind, is_white};
use crate::code::{Invocation, Loop, Node, Op, Program, Unused};
use crate::token::{Kind, Token};
use go_strconv::quote;

impl Parser<'_> {
    pub(super) fn run(mut self) -> Parsed<Program> {
        loop {
            let nested = !matches!(self.tree.kind, TreeKind::Main) || !self.tree.controls.is_empty();
            let next = if nested { self.peek_significant() } else { self.peek() };
            match next.kind {
                Kind::Eof if nested => return self.fail("unexpected EOF", Vec::new()),
                Kind::Eof => return self.finish(),
                Kind::LeftDelim if !nested => {
                    let delimiter = self.next();
                    if self.next_significant().kind == Kind::Define {
                        self.open_definition()?;
                        continue;
                    }
                    self.backup_two(delimiter);
                }
                _ => {}
            }
            self.text_or_action()?;
        }
    }

    fn text_or_action(&mut self) -> Parsed<()> {
        let token = self.next_significant();
        match token.kind {
            Kind::Text => {
                self.tree.empty = self.tree.empty && (!self.tree.controls.is_empty() || is_white(self.value(token)));
                self.tree.code.push(Op::Text { start: token.start, end: token.end });
                Ok(())
            }
            Kind::LeftDelim => {
                self.tree.action = Some(token.start);
                self.action()
            }
            _ => self.unexpected(token, "input"),
        }
    }

    fn action(&mut self) -> Parsed<()> {
        let token = self.next_significant();
        match token.kind {
            Kind::Block => return self.block(),
            Kind::Break | Kind::Continue => self.jump(token.kind)?,
            Kind::Else => return self.otherwise(),
            Kind::End => return self.end(),
            Kind::If | Kind::Range | Kind::With => return self.open(token.kind, false),
            Kind::Template => self.template()?,
            _ => {
                self.tree.empty = false;
                self.backup();
                let pipe = self.pipeline("command")?;
                self.emit_print(pipe.declares);
            }
        }
        self.tree.action = None;
        Ok(())
    }

    fn jump(&mut self, kind: Kind) -> Parsed<()> {
        let name = if kind == Kind::Break { "{{break}}" } else { "{{continue}}" };
        self.expect(Kind::RightDelim, name)?;
        if self.tree.loops == 0 {
            return self.fail(
                if kind == Kind::Break { "{{break}} outside {{range}}" } else { "{{continue}} outside {{range}}" },
                Vec::new(),
            );
        }
        let ends_at = |control: &Control| control.kind == Kind::Range && (kind == Kind::Break || !control.otherwise);
        let Some(place) = self.tree.controls.iter().rposition(ends_at) else { return Ok(()) };
        let index = self.tree.controls[place].index;
        if kind == Kind::Continue {
            self.tree.code.push(Op::Next { index });
        } else if !self.tree.controls[place].otherwise {
            self.tree.code.push(Op::Break { index });
        } else {
            // In its `else` part a loop has ended; `break` goes to its end nevertheless, not to that of the loop around it.
            let left = self.tree.controls[place + 1..].iter();
            let withs = left.filter(|control| control.kind == Kind::With && !control.otherwise).count();
            self.tree.code.extend(std::iter::repeat_n(Op::EndWith, withs));
            let exit = self.tree.code.len();
            self.tree.code.push(Op::Jump { target: 0 });
            let control = &mut self.tree.controls[place];
            control.exits.push(exit);
            control.declares = true;
        }
        Ok(())
    }

    /// `if`, `with` or `range`: its pipeline and the branch.
    fn open(&mut self, kind: Kind, chained: bool) -> Parsed<()> {
        let context = match kind {
            Kind::If => "if",
            Kind::With => "with",
            _ => "range",
        };
        let (variables, slots) = (self.tree.variables.len(), self.tree.slots.len());
        self.tree.empty = false;
        let declared = self.pipeline(context)?;
        let part = self.tree.slots.len();
        let branch = self.tree.code.len();
        let mut index = 0;
        match kind {
            Kind::If => self.tree.code.push(Op::JumpIfFalse { target: 0 }),
            Kind::With => self.tree.code.push(Op::With { target: 0 }),
            _ => {
                index = self.open_loop(&declared, part, branch);
                self.tree.code.push(Op::Range { index });
                self.tree.loops += 1;
            }
        }
        self.tree.controls.push(Control {
            kind,
            otherwise: false,
            chained,
            variables,
            slots,
            part,
            branch,
            exits: Vec::new(),
            declares: part > slots,
            index,
        });
        Ok(())
    }

    fn open_loop(&mut self, declared: &super::pipeline::Declared, slots: usize, branch: usize) -> u32 {
        let (index, element) = match declared.declarations[..] {
            [element] => (element, element),
            [index, element] => (index, element),
            _ => (0, 0),
        };
        let variables = declared.declarations.len() as u8;
        let body = branch as u32 + 1;
        self.program.loops.push(Loop { body, slots: slots as u32, variables, index, element, ..Loop::default() });
        self.program.loops.len() as u32 - 1
    }

    /// Closes the part of the innermost control that has been read; what follows is `else` or the end.
    fn close_part(&mut self) {
        let here = self.tree.code.len();
        let Some(control) = self.tree.controls.last_mut() else { return };
        control.declares |= self.tree.slots.len() > control.part;
        self.tree.slots.truncate(control.part);
        if control.otherwise {
            return;
        }
        match control.kind {
            Kind::Range => {
                self.tree.code.push(Op::Next { index: control.index });
                self.tree.loops -= 1;
            }
            Kind::With => self.tree.code.push(Op::EndWith),
            _ => debug_assert!(here > control.branch),
        }
    }

    /// Lets the branch of the innermost control go to the instruction that comes next.
    fn patch_branch(&mut self) {
        let here = self.tree.code.len() as u32;
        let Some(control) = self.tree.controls.last() else { return };
        match &mut self.tree.code[control.branch] {
            Op::JumpIfFalse { target } | Op::With { target } => *target = here,
            Op::Range { index } => self.program.loops[*index as usize].otherwise = here,
            _ => {}
        }
    }

    fn otherwise(&mut self) -> Parsed<()> {
        let next = self.peek_significant();
        let chain = matches!(next.kind, Kind::If | Kind::With);
        if !chain {
            self.expect(Kind::RightDelim, "else")?;
        }
        self.tree.action = None;
        let Some(control) = self.tree.controls.last() else { return self.stray("{{else}}") };
        if control.otherwise {
            return self.fail("expected end; found %s", vec!["{{else}}".into()]);
        }
        let chain = chain && control.kind == next.kind;
        self.close_part();
        let exit = self.tree.code.len();
        if let Some(control) = self.tree.controls.last_mut() {
            control.otherwise = true;
            if control.kind != Kind::Range {
                control.exits.push(exit);
                self.tree.code.push(Op::Jump { target: 0 });
            }
        }
        self.patch_branch();
        if chain {
            self.next();
            return self.open(next.kind, true);
        }
        Ok(())
    }

    /// `{{end}}` or `{{else}}` outside any control: the end of a definition, or a mistake.
    fn stray(&mut self, found: &'static str) -> Parsed<()> {
        match std::mem::replace(&mut self.tree.kind, TreeKind::Main) {
            TreeKind::Main => self.fail("unexpected %s", vec![found.into()]),
            TreeKind::Define if found == "{{end}}" => {
                self.define()?;
                self.leave();
                Ok(())
            }
            TreeKind::Define => self.fail("unexpected %s in %s", vec![found.into(), "define clause".into()]),
            TreeKind::Block { invocation, argument } if found == "{{end}}" => {
                self.define()?;
                self.leave();
                self.tree.code.push(Op::Invoke { invocation, argument });
                self.tree.action = None;
                Ok(())
            }
            TreeKind::Block { .. } => {
                self.leave();
                self.fail("unexpected %s in %s", vec![found.into(), "block clause".into()])
            }
        }
    }

    fn end(&mut self) -> Parsed<()> {
        self.expect(Kind::RightDelim, "end")?;
        self.tree.action = None;
        if self.tree.controls.is_empty() {
            return self.stray("{{end}}");
        }
        loop {
            self.close_part();
            let Some(last) = self.tree.controls.last_mut() else { return Ok(()) };
            let exits = std::mem::take(&mut last.exits);
            let here = self.tree.code.len() as u32;
            for exit in exits {
                if let Op::Jump { target } = &mut self.tree.code[exit] {
                    *target = here;
                }
            }
            if self.tree.controls.last().is_some_and(|control| !control.otherwise) {
                self.patch_branch();
            }
            let Some(control) = self.tree.controls.pop() else { return Ok(()) };
            if control.kind == Kind::Range {
                self.program.loops[control.index as usize].after = here;
            }
            if control.declares {
                self.tree.code.push(Op::Forget { slot: control.slots as u32 });
            }
            self.tree.slots.truncate(control.slots);
            self.tree.variables.truncate(control.variables);
            if !control.chained {
                return Ok(());
            }
        }
    }

    fn enter(&mut self, name: Box<[u8]>, kind: TreeKind) {
        let tree = Tree { kind, ..Tree::new(name) };
        self.outer.push(std::mem::replace(&mut self.tree, tree));
    }

    fn leave(&mut self) {
        if let Some(outer) = self.outer.pop() {
            self.tree = outer;
        }
    }

    /// `{{define "name"}}`, whose keyword has been read.
    fn open_definition(&mut self) -> Parsed<()> {
        self.enter(Box::default(), TreeKind::Define);
        let token = self.next_significant();
        if !matches!(token.kind, Kind::String | Kind::RawString) {
            return self.unexpected(token, "define clause");
        }
        self.tree.name = self.unquote(token)?;
        self.expect(Kind::RightDelim, "define clause")?;
        Ok(())
    }

    pub(super) fn unquote(&self, token: Token) -> Parsed<Box<[u8]>> {
        match quote::unquote(self.value(token)) {
            Some(text) => Ok(text.into()),
            None => self.fail_with("invalid syntax"),
        }
    }

    fn template_name(&mut self, context: &str) -> Parsed<(Token, u32)> {
        let token = self.next_significant();
        if !matches!(token.kind, Kind::String | Kind::RawString) {
            return self.unexpected(token, context);
        }
        let name = self.unquote(token)?;
        self.program.invocations.push(Invocation { name, definition: None, unused: Unused::default() });
        Ok((token, self.program.invocations.len() as u32 - 1))
    }

    /// Emits the check before an invocation. Its node ends where its pipeline ends, which is set then.
    fn open_invocation(&mut self, token: Token, invocation: u32) -> u32 {
        let (start, end) = (token.start, token.end);
        self.program.nodes.push(Node { start, end, pos: start, invocation: true });
        let node = self.program.nodes.len() as u32 - 1;
        self.tree.empty = false;
        self.tree.code.push(Op::Lookup { invocation, node });
        node
    }

    fn template(&mut self) -> Parsed<()> {
        let (token, invocation) = self.template_name("template clause")?;
        let node = self.open_invocation(token, invocation);
        let argument = self.next_significant().kind != Kind::RightDelim;
        if argument {
            self.backup();
            let pipe = self.pipeline("template clause")?;
            self.program.nodes[node as usize].end = pipe.end;
        }
        self.tree.code.push(Op::Invoke { invocation, argument });
        Ok(())
    }

    fn block(&mut self) -> Parsed<()> {
        let (token, invocation) = self.template_name("block clause")?;
        let node = self.open_invocation(token, invocation);
        let pipe = self.pipeline("block clause")?;
        self.program.nodes[node as usize].end = pipe.end;
        let name = self.program.invocations[invocation as usize].name.clone();
        self.enter(name, TreeKind::Block { invocation, argument: true });
        Ok(())
    }
}
