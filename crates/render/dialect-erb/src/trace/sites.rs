//! Where the code of a template branches.

use ruby::Vm;
use value::Value;

use crate::ruby_text::utf8;
use crate::scanner;

/// A branch of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) line: u32,
    /// `if`, `elsif`, `unless`, `case`, `if_p`, `if_link`, or the method of a loop.
    pub(crate) kind: String,
    /// The literal names of `if_p` and `if_link`.
    pub(crate) name: Option<String>,
    /// The lines of its ways.
    pub(crate) arms: Vec<u32>,
    /// Whether it has one more way, the one that is taken if no other is.
    pub(crate) has_rest: bool,
}

/// What is known of a template without rendering it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sites {
    /// The lines where statements begin.
    pub(crate) statements: Vec<u32>,
    pub(crate) branches: Vec<Site>,
    /// Line, column in bytes, and what is inserted there to see which way a branch takes; in their order.
    insertions: Vec<(usize, usize, String)>,
}

impl Sites {
    /// Those of some templates, in one call of the VM. None of their code runs.
    ///
    /// # Errors
    /// Only where the VM itself fails.
    pub(crate) fn of(vm: &Vm, templates: &[&[u8]]) -> problem::Result<Vec<Sites>> {
        vm.load_source("sites", include_str!("../../ruby/sites.rb"));
        let sources = templates.iter().map(|template| {
            let (code, _) = scanner::code_in_place(template);
            utf8(code)
        });
        let sources = Value::array(sources.collect::<Vec<_>>());
        let found = vm.call("sites", sources).map_err(|e| e.internal("examine templates"))?;
        Ok(found.as_array().unwrap_or_default().iter().map(Sites::decode).collect())
    }

    fn decode(value: &Value) -> Sites {
        let Some([statements, branches, insertions]) = value.as_array() else { return Sites::default() };
        let items = |value: &Value| value.as_array().unwrap_or_default().to_vec();
        Sites {
            statements: items(statements).iter().filter_map(number).collect(),
            branches: items(branches).iter().filter_map(Site::decode).collect(),
            insertions: items(insertions)
                .iter()
                .filter_map(|insertion| {
                    let [line, column, text] = insertion.as_array()? else { return None };
                    Some((number(line)?, number(column)?, text.as_str()?.to_owned()))
                })
                .collect(),
        }
    }

    /// The template with what is inserted; it has the same lines and the same tags.
    pub(super) fn inserted(&self, template: &[u8]) -> Vec<u8> {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', template).map(|end| end + 1));
        let mut result = Vec::with_capacity(template.len() * 2);
        let mut done = 0;
        for (line, column, text) in &self.insertions {
            let start = line.checked_sub(1).and_then(|index| starts.get(index)).copied().unwrap_or(template.len());
            let at = (start + column).clamp(done, template.len());
            result.extend_from_slice(&template[done..at]);
            result.extend_from_slice(text.as_bytes());
            done = at;
        }
        result.extend_from_slice(&template[done..]);
        result
    }
}

impl Site {
    fn decode(value: &Value) -> Option<Site> {
        let [line, kind, name, arms, has_rest] = value.as_array()? else { return None };
        Some(Site {
            line: number(line)?,
            kind: kind.as_str()?.to_owned(),
            name: name.as_str().map(str::to_owned),
            arms: arms.as_array()?.iter().filter_map(number).collect(),
            has_rest: matches!(has_rest, Value::Bool(true)),
        })
    }
}

/// A number that is not negative.
pub(super) fn number<N: TryFrom<i64>>(value: &Value) -> Option<N> {
    value.as_int().and_then(|number| N::try_from(number).ok())
}
