//! Programs: `start program`, `stop program` and `exec`.

use std::time::Duration;

use crate::lexer::{Token, words};
use crate::model::{Account, Program};
use crate::parser::{Parser, Read};

/// How long monit waits for a start or stop program to have its effect, unless the file says otherwise.
const EXEC_TIMEOUT: Duration = Duration::from_secs(30);

/// The most words that a program may have.
const MAX_WORDS: usize = 64;

/// Words that end an unquoted program, apart from those that begin a statement.
const AFTER_PROGRAM: [&str; 4] = ["uid", "gid", "timeout", "else"];

/// Words that begin a statement.
const STATEMENTS: [&str; 15] = [
    "check", "set", "include", "start", "stop", "if", "alert", "noalert", "every", "mode", "group", "depend",
    "depends", "ignore", "exec",
];

impl Parser<'_> {
    /// `start program "..."`, `stop program "..."`, `exec "..."`: the keyword is the next token.
    pub(crate) fn program(&mut self, has_timeout: bool) -> Read<Program> {
        let at = self.at();
        let argv = match self.lexer.program() {
            Some(words) => {
                self.advance();
                words
            }
            None => {
                self.advance();
                self.unquoted_program()?
            }
        };
        if argv.is_empty() {
            return Err(self.syntax_error());
        }
        if argv.len() > MAX_WORDS {
            self.report("exceeded maximum number of program arguments".into(), at);
        }
        let mut program = Program { argv, uid: None, gid: None, timeout: EXEC_TIMEOUT, at };
        loop {
            if self.take(&["uid"]) {
                program.uid = Some(self.account()?);
            } else if self.take(&["gid"]) {
                program.gid = Some(self.account()?);
            } else {
                break;
            }
        }
        if has_timeout && let Some(timeout) = self.timeout()? {
            program.timeout = timeout;
        }
        Ok(program)
    }

    /// Words without quotes, to the next keyword; a text in quotes among them is split like a program.
    fn unquoted_program(&mut self) -> Read<Vec<String>> {
        let mut argv = Vec::new();
        while !self.is(&AFTER_PROGRAM) && !self.is(&STATEMENTS) {
            match &self.next.0 {
                Token::Quoted(text) if argv.is_empty() => argv = words(text, '\''),
                Token::Quoted(text) | Token::Word(text) => argv.push(text.clone()),
                Token::Number(number) if !argv.is_empty() => argv.push(number.to_string()),
                _ => break,
            }
            self.advance();
        }
        Ok(argv)
    }

    fn account(&mut self) -> Read<Account> {
        if self.is_number() { self.number().map(Account::Id) } else { self.text().map(Account::Name) }
    }

    /// `timeout N seconds`
    pub(crate) fn timeout(&mut self) -> Read<Option<Duration>> {
        if !self.take(&["timeout"]) {
            return Ok(None);
        }
        let seconds = self.number()?;
        self.expect(&["second", "seconds"])?;
        Ok(Some(Duration::from_secs(seconds.into())))
    }
}
