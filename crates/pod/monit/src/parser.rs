//! Statements.

mod rule;

use problem::{Problem, Problems, Result, did_you_mean};

use crate::lexer::{Lexer, Token};
use crate::model::{Condition, Config, Kind, Mode, ProcessId, Service, Span, Unsupported};
use crate::services::problem;

/// The most cycles that a rule may count.
const MAX_CYCLES: u32 = 64;

/// What a `check` statement may check.
const KINDS: [&str; 11] =
    ["process", "proc", "file", "directory", "dir", "filesystem", "device", "fifo", "status", "host", "system"];

/// Ends reading: the error is in [`Parser::problems`].
pub(crate) struct Refused;

/// What reads a part of the file gives.
pub(crate) type Read<T> = std::result::Result<T, Refused>;

pub(crate) fn parse(text: &str, path: &str) -> Result<Config> {
    let mut lexer = Lexer::new(text);
    let next = lexer.next();
    let mut parser = Parser { lexer, next, tried: Vec::new(), path, config: Config::default(), problems: Vec::new() };
    if parser.statements().is_ok() {
        parser.check_hosts();
    }
    Problems::check(parser.problems)?;
    Ok(parser.config)
}

/// Reads a file, one token ahead.
pub(crate) struct Parser<'t> {
    pub(crate) lexer: Lexer<'t>,
    /// The next token and its place.
    pub(crate) next: (Token, Span),
    /// The keywords with which the next token was compared.
    tried: Vec<&'static str>,
    path: &'t str,
    config: Config,
    problems: Vec<Problem>,
}

impl Parser<'_> {
    pub(crate) fn advance(&mut self) -> (Token, Span) {
        self.tried.clear();
        let next = self.lexer.next();
        std::mem::replace(&mut self.next, next)
    }

    pub(crate) fn at(&self) -> Span {
        self.next.1
    }

    /// The next token is a syntax error.
    pub(crate) fn syntax_error(&mut self) -> Refused {
        let (token, at) = self.next.clone();
        let mut keywords = std::mem::take(&mut self.tried);
        // Words without meaning may stand before the keyword.
        keywords.extend(["with", "using", "program"]);
        self.refuse_token(&token, at, &keywords)
    }

    /// A token that is none of the `keywords` is a syntax error.
    fn refuse_token(&mut self, token: &Token, at: Span, keywords: &[&'static str]) -> Refused {
        let mut problem = problem(format!("syntax error '{}'", token.text()), self.path, at);
        if let Token::Word(word) = token {
            let similar = did_you_mean(&word.to_ascii_lowercase(), keywords.iter().copied());
            problem.hint = similar.map(|keyword| format!("did you mean '{keyword}'?"));
        }
        self.problems.push(problem);
        Refused
    }

    /// Collects an error that does not end reading.
    pub(crate) fn report(&mut self, message: String, at: Span) {
        self.problems.push(problem(message, self.path, at));
    }

    /// Notes something that the model does not contain.
    pub(crate) fn unsupported(&mut self, what: impl Into<String>, at: Span) {
        let service = self.config.services.last().map(|service| service.name.clone());
        self.config.unsupported.push(Unsupported { service, what: what.into(), at });
    }

    /// Whether the next token is one of these keywords.
    pub(crate) fn is(&mut self, keywords: &[&'static str]) -> bool {
        self.tried.extend(keywords);
        matches!(&self.next.0, Token::Word(word) if keywords.iter().any(|keyword| word.eq_ignore_ascii_case(keyword)))
    }

    /// Takes the next token if it is one of these keywords.
    pub(crate) fn take(&mut self, keywords: &[&'static str]) -> bool {
        let found = self.is(keywords);
        if found {
            self.advance();
        }
        found
    }

    /// Takes the next token if it is a keyword of this table; gives what the keyword means.
    pub(crate) fn one_of<T: Copy>(&mut self, table: &[(&'static str, T)]) -> Option<T> {
        let (_, meaning) = *table.iter().find(|(keyword, _)| self.is(&[keyword]))?;
        self.advance();
        Some(meaning)
    }

    pub(crate) fn expect(&mut self, keywords: &[&'static str]) -> Read<()> {
        if self.take(keywords) { Ok(()) } else { Err(self.syntax_error()) }
    }

    /// Takes the next token if it is this sign.
    pub(crate) fn take_sign(&mut self, sign: &str) -> bool {
        let found = matches!(&self.next.0, Token::Sign(next) if *next == sign);
        if found {
            self.advance();
        }
        found
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self.next.0, Token::Number(_))
    }

    pub(crate) fn number(&mut self) -> Read<u32> {
        match self.next.0 {
            Token::Number(number) => {
                self.advance();
                Ok(number)
            }
            _ => Err(self.syntax_error()),
        }
    }

    /// A number with or without a point.
    pub(crate) fn real(&mut self) -> Read<f64> {
        match self.next.0 {
            Token::Real(number) => {
                self.advance();
                Ok(number)
            }
            _ => self.number().map(f64::from),
        }
    }

    /// A word or a text in quotes.
    pub(crate) fn text(&mut self) -> Read<String> {
        match &self.next.0 {
            Token::Word(text) | Token::Quoted(text) => {
                let text = text.clone();
                self.advance();
                Ok(text)
            }
            _ => Err(self.syntax_error()),
        }
    }

    /// A path, quoted or not.
    pub(crate) fn path(&mut self) -> Read<String> {
        match &self.next.0 {
            Token::Word(text) | Token::Quoted(text) if text.starts_with('/') => self.text(),
            _ => Err(self.syntax_error()),
        }
    }

    fn statements(&mut self) -> Read<()> {
        while self.next.0 != Token::End {
            let at = self.at();
            if self.is(&["check"]) {
                self.service()?;
            } else if self.is(&["set", "include"]) {
                let what = self.next.0.text().to_ascii_lowercase();
                self.config.unsupported.push(Unsupported { service: None, what, at });
                self.advance();
                self.skip_setting();
            } else if self.config.services.is_empty() || !self.option()? {
                return Err(self.syntax_error());
            }
        }
        Ok(())
    }

    /// Skips the rest of a `set` or `include` statement.
    fn skip_setting(&mut self) {
        while !self.is(&["check", "set", "include"]) && self.next.0 != Token::End {
            self.advance();
        }
    }

    /// `check KIND NAME ...`: `check` is the next token.
    fn service(&mut self) -> Read<()> {
        let (token, at) = self.lexer.name();
        let kind = token.text().to_ascii_lowercase();
        if !KINDS.contains(&kind.as_str()) {
            let refused = self.refuse_token(&token, at, &KINDS);
            if kind == "program"
                && let Some(problem) = self.problems.last_mut()
            {
                problem.hint = Some("monit 5.2.5, which BOSH's stemcells have, has no 'check program'".into());
            }
            return Err(refused);
        }
        let (name, at) = self.lexer.name();
        let (Token::Word(name) | Token::Quoted(name)) = name else { return Err(self.refuse_token(&name, at, &[])) };
        self.check_name(&name, at);
        self.advance();
        let kind = self.kind(&kind)?;
        self.config.services.push(Service {
            name,
            at,
            kind,
            start: None,
            stop: None,
            depends_on: Vec::new(),
            groups: Vec::new(),
            mode: Mode::Active,
            every: None,
            rules: Vec::new(),
        });
        Ok(())
    }

    fn check_name(&mut self, name: &str, at: Span) {
        if self.config.service(name).is_some() {
            self.report(format!("service name conflict, {name} already defined"), at);
        }
        if name.starts_with('/') {
            self.report(format!("service name '{name}' must not start with '/' --"), at);
        }
    }

    fn kind(&mut self, kind: &str) -> Read<Kind> {
        match kind {
            "process" | "proc" => {
                if self.take(&["matching", "match"]) {
                    return Ok(Kind::Process(ProcessId::Matching(self.text()?)));
                }
                self.expect(&["pidfile", "path"])?;
                Ok(Kind::Process(ProcessId::Pidfile(self.path()?)))
            }
            "host" => {
                self.expect(&["address"])?;
                Ok(Kind::Host(self.text()?))
            }
            "system" => Ok(Kind::System),
            _ => {
                self.expect(&["path"])?;
                let path = self.path()?;
                Ok(match kind {
                    "file" => Kind::File(path),
                    "directory" | "dir" => Kind::Directory(path),
                    "fifo" => Kind::Fifo(path),
                    "status" => Kind::Status(path),
                    _ => Kind::Filesystem(path),
                })
            }
        }
    }

    /// Reads a statement of the current service; gives `false` if none comes next.
    fn option(&mut self) -> Read<bool> {
        let at = self.at();
        if self.is(&["start"]) {
            let program = self.program(true)?;
            self.with_service(|service| service.start = Some(program));
        } else if self.is(&["stop"]) {
            let program = self.program(true)?;
            self.with_service(|service| service.stop = Some(program));
        } else if self.is(&["group"]) {
            let (name, at) = self.lexer.name();
            let (Token::Word(name) | Token::Quoted(name)) = name else { return Err(self.refuse_token(&name, at, &[])) };
            self.advance();
            self.with_service(|service| service.groups.push(name));
        } else if self.is(&["depend", "depends"]) {
            let names = self.lexer.dependencies();
            self.advance();
            if names.is_empty() {
                return Err(self.syntax_error());
            }
            self.with_service(|service| service.depends_on.extend(names));
        } else if self.take(&["mode"]) {
            const MODES: [(&str, Mode); 3] =
                [("active", Mode::Active), ("passive", Mode::Passive), ("manual", Mode::Manual)];
            let Some(mode) = self.one_of(&MODES) else { return Err(self.syntax_error()) };
            self.with_service(|service| service.mode = mode);
        } else if self.take(&["every"]) {
            let every = self.number()?;
            self.expect(&["cycle", "cycles"])?;
            if every <= 1 {
                self.report("an EVERY statement must have a value greater than 1".into(), at);
            }
            self.with_service(|service| service.every = Some(every));
        } else if self.is(&["alert", "noalert"]) {
            self.unsupported("alert by mail", at);
            self.mail()?;
        } else if self.take(&["ignore"]) {
            self.take(&["not"]);
            self.expect(&["match", "matching"])?;
            self.text()?;
            self.unsupported("ignore match", at);
        } else if self.take(&["if"]) {
            self.rule(at)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn with_service(&mut self, change: impl FnOnce(&mut Service)) {
        if let Some(service) = self.config.services.last_mut() {
            change(service);
        }
    }

    /// The kind of the current service.
    pub(crate) fn current_kind(&self) -> Kind {
        self.config.services.last().map_or(Kind::System, |service| service.kind.clone())
    }

    /// `alert ADDRESS [not] {EVENTS} mail-format {...} reminder on N cycles`
    fn mail(&mut self) -> Read<()> {
        self.advance();
        self.text()?;
        if self.take_sign("@") {
            self.text()?;
        }
        self.take(&["not"]);
        loop {
            if matches!(self.next.0, Token::Sign("{")) {
                while !self.take_sign("}") {
                    if self.next.0 == Token::End {
                        return Err(self.syntax_error());
                    }
                    self.advance();
                }
            } else if self.is(&["mail-format"]) {
                // Free text may be in it.
                self.lexer.skip_braces();
                self.advance();
            } else if self.take(&["reminder"]) {
                self.number()?;
                self.take(&["cycle", "cycles"]);
            } else {
                return Ok(());
            }
        }
    }

    /// A host needs something to test.
    fn check_hosts(&mut self) {
        let tested = |service: &Service| {
            service.rules.iter().any(|rule| matches!(rule.condition, Condition::Connection(_) | Condition::Other))
        };
        let hosts = self.config.services.iter().filter(|s| matches!(s.kind, Kind::Host(_)) && !tested(s));
        let incomplete: Vec<(String, Span)> = hosts.map(|service| (service.name.clone(), service.at)).collect();
        for (name, at) in incomplete {
            let message = format!(
                "'check host' statement is incomplete; Please specify a port number to test\n or an icmp test at the \
                 remote host: '{name}'"
            );
            self.report(message, at);
        }
    }
}
