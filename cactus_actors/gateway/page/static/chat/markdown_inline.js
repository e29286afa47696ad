/** Emphasis, code, links and breaks inside of a paragraph. */

import { h } from '../parts/dom.js';

const PATTERN = new RegExp(
  [
    /\\(?<escaped>[!-/:-@[-`{-~])/,
    /(?<ticks>`+)(?<code>[\s\S]*?[^`])\k<ticks>(?!`)/,
    /(?<strong>\*\*|(?<![A-Za-z0-9])__)(?=\S)(?<bold>[\s\S]*?\S)\k<strong>/,
    /(?<em>\*|(?<![A-Za-z0-9])_)(?=[^\s*_])(?<slanted>[\s\S]*?[^\s*])\k<em>(?![A-Za-z0-9])/,
    /~~(?=\S)(?<struck>[\s\S]*?\S)~~/,
    /(?<bang>!?)\[(?<label>[^\]]*)\]\((?<target>[^\s()]*)\)/,
    /(?<url>https?:\/\/[^\s<>()]*[^\s<>().,;:!?'"*_`])/,
    /(?<hard> {2,}|\\)\n/,
  ]
    .map((one) => one.source)
    .join('|'),
  'g',
);
const SAFE = /^(?:https?:\/\/|mailto:)/i;

/** The nodes of a text; `offsets` has each character's offset in the source. */
export function inline(text, offsets, leaf) {
  const nodes = [];
  const part = (from, to) => leaf(text.slice(from, to), offsets.subarray(from, to));
  const inside = (from, length) =>
    inline(text.slice(from, from + length), offsets.subarray(from, from + length), leaf);
  let done = 0;
  for (const found of text.matchAll(PATTERN)) {
    const [whole] = found;
    const given = found.groups;
    const from = found.index;
    if (from > done) nodes.push(...part(done, from));
    done = from + whole.length;
    if (given.escaped) nodes.push(...part(from + 1, from + 2));
    else if (given.ticks) nodes.push(h('code', {}, ...part(from + given.ticks.length, done - given.ticks.length)));
    else if (given.strong) nodes.push(h('strong', {}, ...inside(from + 2, given.bold.length)));
    else if (given.em) nodes.push(h('em', {}, ...inside(from + 1, given.slanted.length)));
    else if (given.struck) nodes.push(h('del', {}, ...inside(from + 2, given.struck.length)));
    else if (given.url) nodes.push(link(given.url, part(from, done)));
    else if (given.hard !== undefined) nodes.push(h('br'));
    else nodes.push(...linked(given, from, part, inside));
  }
  if (done < text.length) nodes.push(...part(done, text.length));
  return nodes;
}

function linked({ bang, label, target }, from, part, inside) {
  const start = from + bang.length + 1;
  const shown = label ? inside(start, label.length) : part(start + 2, start + 2 + target.length);
  return SAFE.test(target) ? [link(target, shown)] : shown;
}

function link(target, nodes) {
  return h('a', { href: target, target: '_blank', rel: 'noopener noreferrer nofollow' }, ...nodes);
}
