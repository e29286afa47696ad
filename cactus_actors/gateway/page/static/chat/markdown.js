/**
 * Markdown as elements. Nothing of a text becomes markup: elements are built, and text is only ever put into them.
 *
 * Each character keeps its offset in the source, so that tokens can be marked inside of formatted text: `leaf` turns
 * characters and their offsets into nodes. A picture becomes a link, since the page loads nothing from elsewhere.
 */

import { h } from '../parts/dom.js';
import { inline } from './markdown_inline.js';
import { tableOf } from './markdown_table.js';

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])([ \t]+|$)/;
const MAX_DEPTH = 12;

/** The elements of a text. */
export function markdown(source, leaf = plain) {
  const lines = [];
  let start = 0;
  for (const text of source.split('\n')) {
    lines.push({ text, start });
    start += text.length + 1;
  }
  return blocks(lines, leaf, 0);
}

function plain(text) {
  return [document.createTextNode(text)];
}

function blocks(lines, leaf, depth) {
  const made = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    if (!line.text.trim()) {
      at += 1;
      continue;
    }
    const [element, next] = block(lines, at, leaf, depth);
    made.push(element);
    at = next;
  }
  return made;
}

/** One block that begins at a line, and the line after it. */
function block(lines, at, leaf, depth) {
  const { text, start } = lines[at];
  const fence = FENCE.exec(text);
  if (fence) return fenced(lines, at, fence, leaf);
  const heading = HEADING.exec(text);
  if (heading) {
    const from = text.indexOf(heading[2], heading[1].length);
    const level = Math.min(6, heading[1].length + 2);
    return [h(`h${level}`, {}, ...inlineOf([{ text: heading[2], start: start + from }], leaf)), at + 1];
  }
  if (RULE.test(text)) return [h('hr'), at + 1];
  if (depth < MAX_DEPTH && QUOTE.test(text)) return quote(lines, at, leaf, depth);
  if (depth < MAX_DEPTH && ITEM.test(text)) return list(lines, at, leaf, depth);
  const table = tableOf(lines, at, (cell) => inlineOf([cell], leaf));
  return table ?? paragraph(lines, at, leaf);
}

function fenced(lines, at, [, mark, language], leaf) {
  const close = new RegExp(`^ {0,3}${mark[0] === '`' ? '`' : '~'}{${mark.length},}[ \\t]*$`);
  let end = at + 1;
  while (end < lines.length && !close.test(lines[end].text)) end += 1;
  const code = h('code', language ? { 'data-language': language } : {}, ...joined(lines.slice(at + 1, end), leaf));
  return [
    h('pre', { tabindex: '0', 'aria-label': language ? `Code, ${language}` : 'Code', role: 'region' }, code),
    end + 1,
  ];
}

function quote(lines, at, leaf, depth) {
  const inner = [];
  let end = at;
  for (; end < lines.length && QUOTE.test(lines[end].text); end += 1) inner.push(without(lines[end], QUOTE));
  return [h('blockquote', {}, ...blocks(inner, leaf, depth + 1)), end];
}

function list(lines, at, leaf, depth) {
  const marker = (item) => (/\d/.test(item[2]) ? item[2].at(-1) : item[2]);
  const first = ITEM.exec(lines[at].text);
  const isOrdered = /\d/.test(first[2]);
  const root = h(isOrdered ? 'ol' : 'ul', isOrdered ? { start: String(parseInt(first[2], 10)) } : {});
  let next = at;
  while (next < lines.length) {
    const item = ITEM.exec(lines[next].text);
    if (!item || marker(item) !== marker(first)) break;
    const width = item[0].length;
    const inner = [{ text: lines[next].text.slice(width), start: lines[next].start + width }];
    next += 1;
    while (next < lines.length && belongs(lines, next, width)) {
      inner.push(without(lines[next], new RegExp(`^ {0,${width}}`)));
      next += 1;
    }
    root.append(h('li', {}, ...tight(inner, leaf, depth)));
    while (next < lines.length && !lines[next].text.trim() && ITEM.test(lines[next + 1]?.text ?? '')) next += 1;
  }
  return [root, next];
}

/** True if a line continues the item whose text begins at column `width`. */
function belongs(lines, at, width) {
  const { text } = lines[at];
  const indent = text.search(/\S/);
  if (indent < 0) return (lines[at + 1]?.text.search(/\S/) ?? -1) >= Math.min(width, 2);
  if (indent >= Math.min(width, 2)) return true;
  return lines[at - 1].text.trim() !== '' && !isBlockStart(text);
}

/** The content of an item: a single paragraph has no element of its own. */
function tight(lines, leaf, depth) {
  const inner = blocks(lines, leaf, depth + 1);
  return inner.flatMap((element) => (element.tagName === 'P' ? [...element.childNodes] : [element]));
}

function paragraph(lines, at, leaf) {
  let end = at + 1;
  while (end < lines.length && lines[end].text.trim() && !isBlockStart(lines[end].text)) end += 1;
  return [h('p', {}, ...inlineOf(lines.slice(at, end), leaf)), end];
}

function isBlockStart(text) {
  return [FENCE, HEADING, RULE, QUOTE, ITEM].some((pattern) => pattern.test(text));
}

function without({ text, start }, prefix) {
  const { length } = prefix.exec(text)[0];
  return { text: text.slice(length), start: start + length };
}

function inlineOf(lines, leaf) {
  return inline(...withOffsets(lines), leaf);
}

function joined(lines, leaf) {
  return leaf(...withOffsets(lines));
}

/** Lines as one text, and the offset of each of its characters. */
function withOffsets(lines) {
  const text = lines.map((line) => line.text).join('\n');
  const offsets = new Int32Array(text.length);
  let at = 0;
  for (const line of lines) {
    for (let index = 0; index <= line.text.length && at < text.length; index += 1) {
      offsets[at] = line.start + index;
      at += 1;
    }
  }
  return [text, offsets];
}
