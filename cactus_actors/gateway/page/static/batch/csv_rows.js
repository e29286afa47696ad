/** Values separated by commas or tabs (RFC 4180), row by row. */

import { linesOf } from '../parts/text_lines.js';

/** The rows of a file as [number of its first line, fields]; raises Error for a quote that is not closed. */
export async function* csvRows(file, delimiter) {
  const row = new CsvRow(delimiter);
  let first = 1;
  for await (const [number, line] of linesOf(file, { keepsEmpty: true, isStrict: true })) {
    if (!row.isOpen) first = number;
    row.read(line);
    if (row.isOpen) continue;
    const fields = row.taken();
    if (fields.length > 1 || fields[0].trim()) yield [first, fields];
  }
  if (row.isOpen) throw new Error(`A quote in the row of line ${first} is not closed.`);
}

class CsvRow {
  #fields = [];
  #quoted = null;

  constructor(delimiter) {
    this.delimiter = delimiter;
  }

  /** True within quotes: the row goes on in the next line. */
  get isOpen() {
    return this.#quoted !== null;
  }

  /** The fields so far; the next row begins. */
  taken() {
    const fields = this.#fields;
    this.#fields = [];
    return fields;
  }

  /** Read a line, the first of the row or a further one. */
  read(line) {
    let at = 0;
    do {
      if (this.#quoted === null && line[at] === '"') {
        this.#quoted = '';
        at += 1;
      }
      if (this.#quoted !== null) {
        at = this.#readQuoted(line, at);
        if (this.#quoted !== null) return;
      } else {
        at = this.#readRest(line, at, '');
      }
      at += 1; // the delimiter
    } while (at <= line.length);
  }

  /** Read to the closing quote and the delimiter after it; returns its place. */
  #readQuoted(line, at) {
    for (;;) {
      const quote = line.indexOf('"', at);
      if (quote < 0) {
        this.#quoted += `${line.slice(at)}\n`;
        return line.length;
      }
      this.#quoted += line.slice(at, quote);
      if (line[quote + 1] !== '"') {
        const text = this.#quoted;
        this.#quoted = null;
        return this.#readRest(line, quote + 1, text);
      }
      this.#quoted += '"';
      at = quote + 2;
    }
  }

  #readRest(line, at, before) {
    const found = line.indexOf(this.delimiter, at);
    const end = found < 0 ? line.length : found;
    this.#fields.push(before + line.slice(at, end));
    return end;
  }
}
