/** Tables of Markdown. */

import { h } from '../parts/dom.js';

const DIVIDER = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

/** The table that begins at a line, and the line after it; undefined if there is none. */
export function tableOf(lines, at, render) {
  const divider = lines[at + 1]?.text;
  if (!lines[at].text.includes('|') || divider === undefined || !divider.includes('|') || !DIVIDER.test(divider)) {
    return undefined;
  }
  const heads = cellsOf(lines[at]);
  const rows = [];
  let end = at + 2;
  for (; end < lines.length && lines[end].text.includes('|'); end += 1) rows.push(cellsOf(lines[end]));
  const row = (cells, kind) => h('tr', {}, ...cells.map((cell) => h(kind, {}, ...render(cell))));
  const table = h(
    'table',
    {},
    h('thead', {}, row(heads, 'th')),
    h('tbody', {}, ...rows.map((cells) => row(cells.slice(0, heads.length), 'td'))),
  );
  return [h('div', { class: 'scroll-x', tabindex: '0', role: 'region', 'aria-label': 'Table' }, table), end];
}

/** The cells of a line, each with its offset. */
function cellsOf({ text, start }) {
  const cells = [];
  let from = text.search(/\S/);
  if (text[from] === '|') from += 1;
  while (from < text.length) {
    let to = from;
    while (to < text.length && (text[to] !== '|' || text[to - 1] === '\\')) to += 1;
    const raw = text.slice(from, to);
    if (to < text.length || raw.trim()) {
      const lead = raw.length - raw.trimStart().length;
      cells.push({ text: raw.trim(), start: start + from + lead });
    }
    from = to + 1;
  }
  return cells;
}
