//! The graph as a picture.
//!
//! Each group is a card with a row for each job and link, in the order of the manifest. A link is a vertical line right of the cards,
//! with a dot at the row that provides it and an arrow at each row that consumes it: lines cross only at right angles, and the
//! picture of a large deployment grows in length alone. It has no script, and heeds the colours that the reader prefers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::text::of_type;
use crate::{Graph, Group, Job, Source, Start, instances, start};

/// Pixels for a character of the font.
const CHARACTER: usize = 7;
const HEADER: usize = 26;
const ROW: usize = 18;
const GAP: usize = 14;
const MARGIN: usize = 16;
/// Between two vertical lines.
const LANE: usize = 12;
/// Classes of colours.
const COLORS: usize = 8;

/// The rules of CSS that the picture needs.
pub const STYLE: &str = "\
text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#1c1e21}\
.page{fill:#fff}.card{fill:#f5f6f8;stroke:#8a9099}.errand{stroke-dasharray:4 3}\
.name{font-weight:bold}.dim{fill:#5c636b}.start{font-size:16px;text-anchor:end;fill:#5c636b}\
path{fill:none;stroke-width:1.5}path:hover{stroke-width:4}\
@media(prefers-color-scheme:dark){text{fill:#e6e8eb}.page{fill:#16181c}.card{fill:#22262c;stroke:#6c737c}.dim,.start{fill:#a4abb3}}\
.c0{stroke:#2f7ed8;fill:#2f7ed8}.c1{stroke:#d9772b;fill:#d9772b}.c2{stroke:#2a9d6f;fill:#2a9d6f}.c3{stroke:#d64f8c;fill:#d64f8c}\
.c4{stroke:#8b7bd8;fill:#8b7bd8}.c5{stroke:#6f9a1d;fill:#6f9a1d}.c6{stroke:#b08a2e;fill:#b08a2e}.c7{stroke:#808890;fill:#808890}";

/// What provides links.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Provider {
    /// A group, a job and a link, as far as they are known.
    Inside(usize, Option<usize>, Option<usize>),
    Outside(String),
}

/// A row that consumes a link.
struct Consumer {
    y: usize,
    /// What the pointer shows.
    title: String,
}

/// A line of text in a card.
struct Row {
    y: usize,
    indent: usize,
    class: &'static str,
    text: String,
}

struct Card {
    top: usize,
    height: usize,
    start: Option<Start>,
    rows: Vec<Row>,
}

/// The places of everything but the lines of links.
#[derive(Default)]
struct Layout {
    /// The links that are consumed: group, job and link.
    used: BTreeSet<(usize, usize, usize)>,
    cards: Vec<Card>,
    providers: BTreeMap<Provider, usize>,
    consumers: BTreeMap<Provider, Vec<Consumer>>,
}

/// A vertical line: a provider and its consumers.
struct Line<'a> {
    provider: usize,
    consumers: &'a [Consumer],
    lane: usize,
}

/// The picture, a whole SVG document.
pub fn render(graph: &Graph) -> String {
    draw(graph, &format!("<style>{STYLE}</style>\n"), &|_| None)
}

/// The picture as an element of an HTML page that has the rules of [`STYLE`]; the names of groups are links to what `target`
/// returns.
pub fn render_element(graph: &Graph, target: &dyn Fn(&Group) -> Option<String>) -> String {
    draw(graph, "", target)
}

fn draw(graph: &Graph, style: &str, target: &dyn Fn(&Group) -> Option<String>) -> String {
    let layout = Layout::new(graph);
    let rows = layout.cards.iter().flat_map(|card| &card.rows);
    let longest = rows.map(|row| row.text.chars().count() * CHARACTER + row.indent).max().unwrap_or(0);
    let starts = graph.groups.iter().map(|group| start(group.start).len()).max().unwrap_or(0);
    let left = MARGIN + starts * (CHARACTER + 3) + MARGIN;
    let right = left + longest + 2 * MARGIN;
    let lines = layout.lines();
    let lanes = lines.iter().map(|line| line.lane + 1).max().unwrap_or(0);
    let width = right + 2 * MARGIN + lanes * LANE;
    let height = layout.bottom() + MARGIN;

    // Readers of the screen skip what is in an image; a picture with links is a group.
    let role = if style.is_empty() { "group" } else { "img" };
    let mut svg = String::new();
    let name = escaped(&graph.name);
    // Writing to a string does not fail.
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"{role}\">\n\
         <title>Deployment {name}: instance groups, jobs and links</title>\n{style}\
         <rect class=\"page\" width=\"{width}\" height=\"{height}\"/>\n\
         <text class=\"name\" x=\"{MARGIN}\" y=\"28\">{name}</text>\n\
         <text class=\"dim\" x=\"{MARGIN}\" y=\"46\">left: the order of start; lines: links, from the dot to the arrows</text>"
    );
    let targets = graph.groups.iter().map(target).chain(std::iter::repeat(None));
    for (card, target) in layout.cards.iter().zip(targets) {
        write_card(&mut svg, card, left, right - left, target.as_deref());
    }
    for line in &lines {
        write_line(&mut svg, line, right);
    }
    svg.push_str("</svg>\n");
    svg
}

impl Layout {
    fn new(graph: &Graph) -> Layout {
        let mut layout = Layout { used: graph.used(), ..Layout::default() };
        for (g, group) in graph.groups.iter().enumerate() {
            layout.add_group(graph, g, group);
        }
        layout.add_outside();
        layout
    }

    /// Where the next card begins, without the gap.
    fn bottom(&self) -> usize {
        self.cards.last().map_or(46, |card| card.top + card.height)
    }

    fn add_group(&mut self, graph: &Graph, g: usize, group: &Group) {
        let top = self.bottom() + GAP;
        let mut rows = vec![Row { y: top + 17, indent: 0, class: "name", text: group.name.clone() }];
        // Behind the name, which is in bold.
        let indent = (group.name.chars().count() + 2) * (CHARACTER + 1);
        rows.push(Row { y: top + 17, indent, class: "dim", text: instances(group) });
        self.providers.insert(Provider::Inside(g, None, None), top + HEADER / 2);
        let mut y = top + HEADER;
        for (j, job) in group.jobs.iter().enumerate() {
            y = self.add_job(graph, (g, j), job, y, &mut rows);
        }
        self.cards.push(Card { top, height: y - top + 6, start: Some(group.start), rows });
    }

    /// Adds the rows of a job; returns where the next one begins.
    fn add_job(
        &mut self,
        graph: &Graph,
        (g, j): (usize, usize),
        job: &Job,
        mut y: usize,
        rows: &mut Vec<Row>,
    ) -> usize {
        let mut add = |indent: usize, class, text| {
            rows.push(Row { y: y + 13, indent, class, text });
            y += ROW;
            y - ROW / 2
        };
        let middle = add(12, "", format!("{} (release {})", job.name, job.release));
        self.providers.insert(Provider::Inside(g, Some(j), None), middle);
        for (l, link) in job.provides.iter().enumerate() {
            let class = if self.used.contains(&(g, j, l)) { "" } else { "dim" };
            let middle = add(24, class, format!("provides {}{}", link.name, of_type(&link.name, &link.link_type)));
            self.providers.insert(Provider::Inside(g, Some(j), Some(l)), middle);
        }
        for link in &job.consumes {
            let from = graph.source_name(&link.source);
            let link_type = of_type(&link.name, &link.link_type);
            let middle = add(24, "", format!("consumes {}{link_type} from {from}", link.name));
            let provider = match &link.source {
                Source::Group { group, job, link } => Provider::Inside(*group, *job, *link),
                Source::Outside(name) => Provider::Outside(name.clone()),
                Source::Manifest => continue,
            };
            let title = format!("{}/{} consumes {} from {from}", graph.groups[g].name, job.name, link.name);
            self.consumers.entry(provider).or_default().push(Consumer { y: middle, title });
        }
        y
    }

    /// A card with the providers that are not in the deployment.
    fn add_outside(&mut self) {
        let outside: Vec<_> =
            self.consumers.keys().filter(|from| matches!(from, Provider::Outside(_))).cloned().collect();
        if outside.is_empty() {
            return;
        }
        let top = self.bottom() + GAP;
        let mut rows =
            vec![Row { y: top + 17, indent: 0, class: "name", text: "outside of the deployment".to_owned() }];
        let mut y = top + HEADER;
        for provider in outside {
            if let Provider::Outside(name) = &provider {
                rows.push(Row { y: y + 13, indent: 12, class: "", text: name.clone() });
            }
            self.providers.insert(provider, y + ROW / 2);
            y += ROW;
        }
        self.cards.push(Card { top, height: y - top + 6, start: None, rows });
    }

    /// The vertical lines: short ones next to the cards, and several in one lane where they do not meet.
    fn lines(&self) -> Vec<Line<'_>> {
        let mut spans: Vec<_> = self
            .consumers
            .iter()
            .map(|(provider, consumers)| {
                let y = self.providers[provider];
                let ends = consumers.iter().map(|consumer| consumer.y).chain([y]);
                let (low, high) = ends.fold((y, y), |(low, high), y| (low.min(y), high.max(y)));
                (high - low, low, high, y, consumers)
            })
            .collect();
        spans.sort_by_key(|(length, low, ..)| (*length, *low));
        let mut lanes: Vec<Vec<(usize, usize)>> = Vec::new();
        let mut lines = Vec::new();
        for (_, low, high, provider, consumers) in spans {
            let is_free = |lane: &Vec<(usize, usize)>| lane.iter().all(|(from, to)| high < *from || *to < low);
            let lane = lanes.iter().position(is_free).unwrap_or_else(|| {
                lanes.push(Vec::new());
                lanes.len() - 1
            });
            lanes[lane].push((low, high));
            lines.push(Line { provider, consumers, lane });
        }
        lines
    }
}

fn write_card(svg: &mut String, card: &Card, left: usize, width: usize, target: Option<&str>) {
    let class = if matches!(card.start, Some(Start::Step(_))) { "card" } else { "card errand" };
    let (top, height) = (card.top, card.height);
    let _ = writeln!(
        svg,
        "<rect class=\"{class}\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"4\"/>"
    );
    if let Some(of) = card.start {
        let (x, y) = (left - MARGIN / 2, top + 19);
        let _ = writeln!(svg, "<text class=\"start\" x=\"{x}\" y=\"{y}\">{}</text>", start(of));
    }
    for row in &card.rows {
        let (x, y, text) = (left + MARGIN / 2 + row.indent, row.y, escaped(&row.text));
        let class = if row.class.is_empty() { String::new() } else { format!(" class=\"{}\"", row.class) };
        let text = format!("<text{class} x=\"{x}\" y=\"{y}\">{text}</text>");
        let _ = match target.filter(|_| row.class == "name") {
            Some(target) => writeln!(svg, "<a href=\"{}\">{text}</a>", escaped(target)),
            None => writeln!(svg, "{text}"),
        };
    }
}

fn write_line(svg: &mut String, line: &Line, right: usize) {
    let color = line.lane % COLORS;
    let x = right + MARGIN + line.lane * LANE;
    let from = line.provider;
    let _ = writeln!(svg, "<g class=\"c{color}\">\n<circle cx=\"{right}\" cy=\"{from}\" r=\"3\"/>");
    for consumer in line.consumers {
        let (to, title) = (consumer.y, escaped(&consumer.title));
        let _ =
            writeln!(svg, "<path d=\"M{right} {from}H{x}V{to}H{right}m6 -4l-6 4l6 4\"><title>{title}</title></path>");
    }
    svg.push_str("</g>\n");
}

/// Text of an XML document; characters that it cannot contain are replaced.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push(c),
        }
    }
    escaped
}
