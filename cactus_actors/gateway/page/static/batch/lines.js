/** Files of questions, line by line: batch lines as they are, and other lines as batch lines. */

import { linesOf } from '../parts/text_lines.js';

const QUESTION_FIELDS = ['question', 'prompt', 'text', 'input'];

/** The kind of a file by its first line: `batch`, `json` or `text`; raises Error for one that is none. */
export function kindOf(line) {
  if (!line.trimStart().startsWith('{')) return 'text';
  const record = parsed(line, 1);
  if (record.body && record.url) return 'batch';
  if (Array.isArray(record.messages) || questionOf(record) !== undefined) return 'json';
  throw new Error(`A line needs "messages", or one of ${QUESTION_FIELDS.map((name) => `"${name}"`).join(', ')}.`);
}

/** A line as a batch line; `options` are fields of the body, and `system` comes first in the conversation. */
export function batchLine(kind, line, number, { system, ...options }) {
  if (kind === 'batch') return parsed(line, number);
  const record = kind === 'json' ? parsed(line, number) : { question: line };
  const question = questionOf(record);
  if (!Array.isArray(record.messages) && question === undefined) throw new Error(`Line ${number} has no question.`);
  const asked = Array.isArray(record.messages) ? record.messages : [{ role: 'user', content: question }];
  const messages = system ? [{ role: 'system', content: system }, ...asked] : asked;
  const id = String(record.custom_id ?? record.id ?? `line-${number}`);
  return { custom_id: id, method: 'POST', url: '/v1/chat/completions', body: { messages, ...options } };
}

/** What a batch line asks, in words. */
export function askedBy({ body }) {
  const last = body?.messages?.at(-1)?.content ?? body?.prompt ?? '';
  return typeof last === 'string'
    ? last
    : (last.find?.((part) => part.type === 'text')?.text ?? JSON.stringify(last));
}

/** The first `count` batch lines of a file, and its kind. */
export async function preview(file, options, count) {
  const found = [];
  let kind = null;
  for await (const [number, line] of linesOf(file)) {
    kind ??= kindOf(line);
    found.push(batchLine(kind, line, number, options));
    if (found.length === count) break;
  }
  if (!found.length) throw new Error('The file is empty.');
  return { kind, found };
}

/** The whole file as batch lines; `progress` gets the number of lines so far. */
export async function converted(file, kind, options, progress) {
  if (kind === 'batch') return file;
  const parts = [];
  const ids = new Set();
  for await (const [number, line] of linesOf(file)) {
    const made = batchLine(kind, line, number, options);
    if (ids.has(made.custom_id)) throw new Error(`Line ${number} has the id of an earlier line: ${made.custom_id}`);
    ids.add(made.custom_id);
    parts.push(`${JSON.stringify(made)}\n`);
    if (parts.length % 1000 === 0) progress(parts.length);
  }
  return new Blob(parts, { type: 'application/jsonl' });
}

function questionOf(record) {
  return QUESTION_FIELDS.map((name) => record[name]).find((value) => typeof value === 'string');
}

function parsed(line, number) {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new Error(`Line ${number} is not JSON: ${error.message}`);
  }
}
