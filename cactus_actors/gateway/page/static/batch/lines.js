/** Files of questions, row by row: batch lines as they are, and others as batch lines. */

import { linesOf } from '../parts/text_lines.js';
import { csvRows } from './csv_rows.js';

const QUESTION_FIELDS = ['question', 'prompt', 'text', 'input'];
const DELIMITERS = { csv: ',', tsv: '\t' };
const OTHER_TABLES = ['parquet', 'arrow', 'feather', 'ipc'];

/**
 * How a file is read: its `kind` is `batch`, `json`, `text` or `table`, and a table has `columns`, of which
 * `question` is the one that is asked. Raises Error for a file that is none of these.
 */
export async function formOf(file) {
  const ending = file.name.split('.').pop().toLowerCase();
  if (OTHER_TABLES.includes(ending)) {
    throw new Error(`The page reads text, JSON lines and CSV. For this table use: cactus batch ${file.name}`);
  }
  if (ending in DELIMITERS) return tableForm(file, DELIMITERS[ending]);
  for await (const [, line] of linesOf(file, { isStrict: true })) {
    if (ending === 'json' && line.trimStart().startsWith('[')) {
      throw new Error('This is one list. The page reads an object of JSON on each line.');
    }
    return { kind: kindOf(line) };
  }
  throw new Error('The file is empty.');
}

/** The first `count` batch lines of a file; `options` are fields of their bodies. */
export async function preview(file, form, options, count) {
  const found = [];
  for await (const [number, record] of recordsOf(file, form)) {
    found.push(batchLine(form, record, number, options));
    if (found.length === count) break;
  }
  if (!found.length) throw new Error('The file has no rows.');
  return found;
}

/** The whole file as batch lines; `progress` gets the number of lines so far. */
export async function converted(file, form, options, progress) {
  if (form.kind === 'batch') return file;
  const parts = [];
  const ids = new Set();
  for await (const [number, record] of recordsOf(file, form)) {
    const made = batchLine(form, record, number, options);
    if (ids.has(made.custom_id)) throw new Error(`Line ${number} has the id of an earlier line: ${made.custom_id}`);
    ids.add(made.custom_id);
    parts.push(`${JSON.stringify(made)}\n`);
    if (parts.length % 1000 === 0) progress(parts.length);
  }
  return new Blob(parts, { type: 'application/jsonl' });
}

/** What a batch line asks, in words. */
export function askedBy({ body }) {
  const last = body?.messages?.at(-1)?.content ?? body?.prompt ?? '';
  return typeof last === 'string'
    ? last
    : (last.find?.((part) => part.type === 'text')?.text ?? JSON.stringify(last));
}

function kindOf(line) {
  if (!line.trimStart().startsWith('{')) return 'text';
  const record = parsed(line, 1);
  if (record.body && record.url) return 'batch';
  if (Array.isArray(record.messages) || questionOf(record) !== undefined) return 'json';
  throw new Error(`A line needs "messages", or one of ${QUESTION_FIELDS.map((name) => `"${name}"`).join(', ')}.`);
}

async function tableForm(file, delimiter) {
  for await (const [, columns] of csvRows(file, delimiter)) {
    const twice = columns.find((name, place) => columns.indexOf(name) < place);
    if (twice !== undefined) throw new Error(`Two columns have the name ${twice}.`);
    const question = QUESTION_FIELDS.find((name) => columns.includes(name)) ?? columns[0];
    return { kind: 'table', delimiter, columns, question };
  }
  throw new Error('The file is empty.');
}

/** The rows of a file as [number of the line, record]. */
async function* recordsOf(file, form) {
  if (form.kind === 'table') {
    yield* tableRecords(file, form);
    return;
  }
  for await (const [number, line] of linesOf(file, { isStrict: true })) {
    yield [number, form.kind === 'text' ? { question: line } : parsed(line, number)];
  }
}

async function* tableRecords(file, { delimiter, columns }) {
  let isHead = true;
  for await (const [number, fields] of csvRows(file, delimiter)) {
    if (!isHead) {
      if (fields.length !== columns.length) {
        throw new Error(`Line ${number} has ${fields.length} values for ${columns.length} columns.`);
      }
      yield [number, Object.fromEntries(columns.map((name, place) => [name, fields[place]]))];
    }
    isHead = false;
  }
}

/** A record as a batch line; `system` of the options comes first in the conversation. */
function batchLine(form, record, number, { system, ...options }) {
  if (form.kind === 'batch') return record;
  const question = form.kind === 'table' ? record[form.question] : questionOf(record);
  const isConversation = form.kind === 'json' && Array.isArray(record.messages);
  if (!isConversation && !question?.trim()) throw new Error(`Line ${number} has no question.`);
  const asked = isConversation ? record.messages : [{ role: 'user', content: question }];
  const messages = system ? [{ role: 'system', content: system }, ...asked] : asked;
  const id = String(record.custom_id ?? record.id ?? `line-${number}`);
  return { custom_id: id, method: 'POST', url: '/v1/chat/completions', body: { messages, ...options } };
}

function questionOf(record) {
  return QUESTION_FIELDS.map((name) => record[name]).find((value) => typeof value === 'string');
}

function parsed(line, number) {
  let record;
  try {
    record = JSON.parse(line);
  } catch (error) {
    throw new Error(`Line ${number} is not JSON: ${error.message}`);
  }
  if (record instanceof Object) return record;
  throw new Error(`Line ${number} is no object of JSON.`);
}
