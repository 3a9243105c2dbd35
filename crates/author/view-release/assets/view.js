// Links the lines of a template with those that they render, and loads the page again when a file is saved.
'use strict';

const template = document.getElementById('t');
const rendered = document.getElementById('r');
const details = document.getElementById('details');
const status = document.getElementById('status');

const lineOf = (element) => element.closest('.code > li');
const numberOf = (line) => Number(line.id.slice(1));
const origins = (line) => (line.dataset.from || '').split(' ').filter(Boolean).map(Number);

// What a template's line reads: pairs of name and origin.
const reads = (line) => (line.dataset.reads || '').split('\n').filter(Boolean).map((text) => text.split('\t'));

// The rendered lines of each template line.
const results = new Map();
for (const line of rendered ? rendered.children : []) {
  for (const number of origins(line)) {
    if (!results.has(number)) results.set(number, []);
    results.get(number).push(line);
  }
}

function counterparts(line) {
  if (line.parentElement === template) return results.get(numberOf(line)) || [];
  return origins(line).map((number) => document.getElementById(`t${number}`)).filter(Boolean);
}

// The template's lines that explain a line: its own, or the next one above that reads something, as a loop does.
function readers(line) {
  const own = line.parentElement === template ? [line] : counterparts(line);
  if (own.some((one) => one.dataset.reads)) return own;
  let above = own[0];
  while (above && !above.dataset.reads) above = above.previousElementSibling;
  return above ? [above] : [];
}

function numbers(lines) {
  const all = lines.slice(0, 8).map(numberOf).join(', ');
  return lines.length > 8 ? `${all} and ${lines.length - 8} more` : all;
}

function sentence(line) {
  const other = counterparts(line);
  const s = other.length === 1 ? '' : 's';
  if (line.parentElement === template) {
    const what = other.length ? `renders line${s} ${numbers(other)}` : 'renders no line by itself';
    return `Line ${numberOf(line)} of the template ${what}.`;
  }
  const what = other.length ? `line${s} ${numbers(other)} of the template` : 'code of the template, not of one line';
  return `Line ${numberOf(line)} of the file: rendered by ${what}.`;
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function describe(line) {
  const list = document.createElement('ul');
  const own = line.parentElement === template ? [line] : counterparts(line);
  for (const reader of readers(line)) {
    const where = own.includes(reader) ? '' : ` on line ${numberOf(reader)}`;
    for (const [name, origin] of reads(reader)) {
      const item = element('li', `reads `);
      item.append(element('code', name), `${where}: ${origin}`);
      list.append(item);
    }
  }
  details.replaceChildren(element('p', sentence(line)), list);
}

function mark(line) {
  for (const one of document.querySelectorAll('.linked')) one.classList.remove('linked');
  line.classList.add('linked');
  for (const other of counterparts(line)) other.classList.add('linked');
  describe(line);
}

// Scrolls the other text, and leaves the page where it is.
function reveal(line) {
  const other = counterparts(line)[0];
  if (!other) return;
  const pane = other.parentElement;
  if (other.offsetTop < pane.scrollTop || other.offsetTop + other.offsetHeight > pane.scrollTop + pane.clientHeight) {
    pane.scrollTop = other.offsetTop - pane.clientHeight / 2;
  }
}

const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -Infinity, End: Infinity };

for (const pane of [template, rendered]) {
  if (!pane) continue;
  const lines = Array.from(pane.children);
  const links = lines.map((line) => line.querySelector('a'));
  // One stop of the Tab key for each text; the arrow keys move in it.
  links.forEach((link, index) => { link.tabIndex = index === 0 ? 0 : -1; });
  pane.addEventListener('pointerover', (event) => { const line = lineOf(event.target); if (line) mark(line); });
  pane.addEventListener('click', (event) => { const line = lineOf(event.target); if (line) reveal(line); });
  pane.addEventListener('focusin', (event) => {
    const line = lineOf(event.target);
    if (!line) return;
    links.forEach((link) => { link.tabIndex = -1; });
    line.querySelector('a').tabIndex = 0;
    mark(line);
    reveal(line);
  });
  pane.addEventListener('keydown', (event) => {
    const step = steps[event.key];
    const line = lineOf(event.target);
    if (step === undefined || !line || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    links[Math.min(Math.max(lines.indexOf(line) + step, 0), links.length - 1)].focus();
  });
}

// The line that the address names.
function follow() {
  const line = document.getElementById(location.hash.slice(1));
  if (!line || !line.matches('.code > li')) return;
  mark(line);
  reveal(line);
}

window.addEventListener('hashchange', follow);
follow();

// A page that is served has the version of the files that it shows.
const version = document.body.dataset.version;
let events = null;

function listen() {
  if (document.hidden || events) return;
  events = new EventSource(`${document.body.dataset.root}events`);
  events.onmessage = (event) => {
    status.textContent = '';
    if (event.data !== version) location.reload();
  };
  events.onerror = () => { status.textContent = 'boson view has ended, or is not reachable.'; };
}

// Browsers have few connections for each server: pages that are not visible keep none.
function stop() {
  if (events) events.close();
  events = null;
}

if (version !== undefined) {
  listen();
  document.addEventListener('visibilitychange', () => (document.hidden ? stop() : listen()));
  window.addEventListener('pagehide', stop);
  window.addEventListener('pageshow', listen);
}
