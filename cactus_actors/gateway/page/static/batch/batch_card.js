/** One batch: how far it is, and its files. */

import { getJson, postJson, request } from '../parts/api.js';
import { button, h, say } from '../parts/dom.js';
import { download } from '../parts/download.js';
import { linesOf } from '../parts/text_lines.js';

const ENDED = ['failed', 'completed', 'expired', 'cancelled'];
const INTERVAL_MS = 1500;
const NUM_SHOWN = 3;
const MAX_SHOWN_BYTES = 200_000;

export class BatchCard {
  #timer = 0;
  #isOpen = true;

  constructor(batch) {
    this.batch = batch;
    this.state = h('span', { class: 'badge' });
    this.meter = h('progress', { 'aria-label': 'Answered lines', max: '1', value: 0 });
    this.counts = h('p', { class: 'muted small' });
    this.problem = h('p', { class: 'note bad', role: 'alert', hidden: true });
    this.acts = h('p', { class: 'row' });
    this.answers = h('div');
    const name = batch.metadata?.name ?? batch.id;
    this.element = h(
      'section',
      { class: 'card stack', 'aria-label': `Batch ${name}` },
      h('div', { class: 'row between' }, h('h3', { text: name }), this.state),
      this.meter,
      this.counts,
      this.problem,
      this.acts,
      this.answers,
    );
    this.#show();
    this.#watch();
  }

  /** Ask no more. */
  close() {
    this.#isOpen = false;
    clearTimeout(this.#timer);
  }

  get hasEnded() {
    return ENDED.includes(this.batch.status);
  }

  #watch() {
    if (!this.#isOpen || this.hasEnded) return;
    this.#timer = setTimeout(async () => {
      try {
        this.batch = await getJson(`/v1/batches/${this.batch.id}`);
        this.problem.hidden = true;
        if (this.hasEnded) say(`The batch is ${this.batch.status}.`);
        this.#show();
      } catch (error) {
        this.#complain(error.message);
      }
      this.#watch();
    }, INTERVAL_MS);
  }

  #show() {
    const { status, request_counts: counts, errors } = this.batch;
    const kind = { completed: 'good', failed: 'bad', expired: 'bad', cancelled: 'warn' }[status] ?? '';
    this.state.className = `badge ${kind}`;
    this.state.textContent = status.replace('_', ' ');
    const { total, completed, failed } = counts;
    this.meter.value = total ? (completed + failed) / total : 0;
    this.counts.textContent = `${completed} of ${total} answered${failed ? `, ${failed} failed` : ''}`;
    const fault = errors?.data?.[0];
    if (fault) this.#complain(`${fault.line ? `Line ${fault.line}: ` : ''}${fault.message}`);
    const { output_file_id: output, error_file_id: failures, id } = this.batch;
    this.acts.replaceChildren(
      ...[
        output && this.hasEnded
          ? button('Download answers', () => this.#save(output, `${id}.jsonl`), { class: 'main' })
          : null,
        output && this.hasEnded ? button('Show three', () => this.#showAnswers(output)) : null,
        failures && this.hasEnded
          ? button('Download failures', () => this.#save(failures, `${id}-failures.jsonl`))
          : null,
        this.hasEnded ? null : button('Cancel', () => this.#cancel(), { class: 'danger' }),
      ].filter(Boolean),
    );
  }

  async #cancel() {
    await this.#do(async () => {
      this.batch = await postJson(`/v1/batches/${this.batch.id}/cancel`, {});
      this.#show();
    });
  }

  async #save(id, name) {
    await this.#do(async () => download(name, await (await request(`/v1/files/${id}/content`)).blob()));
  }

  async #showAnswers(id) {
    await this.#do(async () => {
      const blob = await (await request(`/v1/files/${id}/content`)).blob();
      const rows = [];
      for await (const [, line] of linesOf(blob.slice(0, MAX_SHOWN_BYTES))) {
        rows.push(answerRow(line));
        if (rows.length === NUM_SHOWN) break;
      }
      this.answers.replaceChildren(rowsTable('Answers', ['Id', 'Answer'], rows));
    });
  }

  async #do(work) {
    try {
      this.problem.hidden = true;
      await work();
    } catch (error) {
      this.#complain(error.message);
    }
  }

  #complain(text) {
    this.problem.textContent = text;
    this.problem.hidden = false;
  }
}

/** A small table of texts. */
export function rowsTable(title, heads, rows) {
  return h(
    'div',
    { class: 'scroll-x', tabindex: '0', role: 'region', 'aria-label': title },
    h(
      'table',
      {},
      h('thead', {}, h('tr', {}, ...heads.map((text) => h('th', { scope: 'col', text })))),
      h('tbody', {}, ...rows.map((row) => h('tr', {}, ...row.map((text) => h('td', { text }))))),
    ),
  );
}

function answerRow(line) {
  try {
    const { custom_id: id, response } = JSON.parse(line);
    const choice = response?.body?.choices?.[0];
    return [id, choice?.message?.content ?? choice?.text ?? JSON.stringify(response?.body ?? null)];
  } catch {
    return ['…', line];
  }
}
