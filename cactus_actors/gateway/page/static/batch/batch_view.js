/** The part of the page for files of questions: drop one, look at three rows, choose options, run it, download. */

import { getJson, postJson, request } from '../parts/api.js';
import { button, field, h, say } from '../parts/dom.js';
import { BatchCard, rowsTable } from './batch_card.js';
import { dropArea } from '../parts/drop_area.js';
import { askedBy, converted, formOf, preview } from './lines.js';

const NUM_ROWS = 3;
const ENDINGS = '.txt,.jsonl,.ndjson,.json,.csv,.tsv';
const WORDS = {
  batch: 'Batch lines of OpenAI’s API. They have their own options.',
  json: 'Lines of JSON, each with a question or messages.',
  text: 'Lines of text, each a question.',
  table: 'A table, with a question in each row.',
};

/** Show the part in `root`; returns the function that leaves it. */
export function batchView(root) {
  const view = new BatchView(root);
  view.load();
  return () => view.close();
}

class BatchView {
  #cards = [];
  #file = null;
  #form = null;

  constructor(root) {
    this.problem = h('p', { class: 'note bad', role: 'alert', hidden: true });
    this.next = h('div');
    this.list = h('div', { class: 'stack' });
    this.inputs = {
      system: h('textarea', { rows: '2' }),
      max_tokens: h('input', { type: 'number', min: '1', step: '1', placeholder: 'default' }),
      temperature: h('input', { type: 'number', min: '0', max: '2', step: '0.05', placeholder: 'default' }),
      seed: h('input', { type: 'number', min: '0', step: '1', placeholder: 'drawn' }),
      cloud_handoff_threshold: h('input', { type: 'number', min: '0', max: '1', step: '0.01', placeholder: 'never' }),
    };
    root.append(
      h(
        'div',
        { class: 'page-width stack' },
        h('h1', { text: 'Batch' }),
        h('p', {
          class: 'muted',
          text: 'A file with a question on each line. It runs after all other work, and continues after a restart.',
        }),
        dropArea('Drop a file of questions here: text, JSON lines, or CSV', ENDINGS, (file) => this.#take(file)),
        this.problem,
        this.next,
        h('h2', { text: 'Batches' }),
        this.list,
      ),
    );
  }

  /** Show the batches that the service knows. */
  async load() {
    try {
      const { data } = await getJson('/v1/batches');
      for (const batch of [...data].reverse()) this.#addCard(batch);
      if (!data.length) this.list.append(h('p', { class: 'muted none', text: 'None so far.' }));
    } catch (error) {
      this.#complain(error.message);
    }
  }

  close() {
    for (const card of this.#cards) card.close();
  }

  async #take(file) {
    this.#file = file;
    this.problem.hidden = true;
    this.next.replaceChildren();
    try {
      this.#form = await formOf(file);
      this.#showFile(await this.#firstRows());
    } catch (error) {
      this.#complain(`${file.name}: ${error.message}`);
    }
  }

  get #options() {
    const options = {};
    for (const [name, input] of Object.entries(this.inputs)) {
      if (input.value.trim()) options[name] = name === 'system' ? input.value : Number(input.value);
    }
    return options;
  }

  #firstRows() {
    return preview(this.#file, this.#form, this.#options, NUM_ROWS);
  }

  /** The choice of a table's column, whose rows are shown in `place`; null for other files. */
  #columnChoice(place) {
    const { columns, question } = this.#form;
    if (!columns) return null;
    const choose = async () => {
      this.#form.question = select.value;
      this.problem.hidden = true;
      try {
        place.replaceChildren(firstRows(await this.#firstRows()));
      } catch (error) {
        this.#complain(error.message);
      }
    };
    const options = columns.map((name) => h('option', { value: name, text: name, selected: name === question }));
    const select = h('select', { onchange: choose }, ...options);
    return field('Column with the questions', select);
  }

  #showFile(found) {
    const { name, size } = this.#file;
    const { kind } = this.#form;
    const rows = h('div', {}, firstRows(found));
    const kilobytes = Math.max(1, Math.round(size / 1000));
    const run = h('button', { type: 'submit', class: 'main', text: 'Run it' });
    const { system, ...numbers } = this.inputs;
    const labels = {
      max_tokens: 'Max tokens',
      temperature: 'Temperature',
      seed: 'Seed',
      cloud_handoff_threshold: 'Hand off below',
    };
    const options =
      kind === 'batch'
        ? null
        : h(
            'div',
            { class: 'stack' },
            field('System prompt', system),
            h('div', { class: 'grid' }, ...Object.entries(numbers).map(([key, input]) => field(labels[key], input))),
          );
    this.next.replaceChildren(
      h(
        'form',
        {
          class: 'card stack',
          onsubmit: (event) => {
            event.preventDefault();
            this.#run(run, found[0].url);
          },
        },
        h('h2', { text: name }),
        h('p', { class: 'muted', text: `${kilobytes} kB. ${WORDS[kind]} The first rows:` }),
        rows,
        this.#columnChoice(rows),
        options,
        h(
          'p',
          { class: 'row end' },
          button('Put it away', () => this.#putAway()),
          run,
        ),
      ),
    );
    this.next.querySelector('h2').setAttribute('tabindex', '-1');
    this.next.querySelector('h2').focus();
  }

  #putAway() {
    this.#file = null;
    this.next.replaceChildren();
  }

  async #run(run, endpoint) {
    run.disabled = true;
    this.problem.hidden = true;
    const file = this.#file;
    try {
      run.textContent = 'Reading …';
      const lines = await converted(file, this.#form, this.#options, (count) => {
        run.textContent = `Reading … ${count}`;
      });
      run.textContent = 'Sending …';
      const form = new FormData();
      form.append('purpose', 'batch');
      form.append('file', lines, file.name.replace(/\.\w+$/, '.jsonl'));
      const { id } = await (await request('/v1/files', { method: 'POST', body: form })).json();
      const batch = await postJson('/v1/batches', {
        input_file_id: id,
        endpoint,
        completion_window: '24h',
        metadata: { name: file.name.slice(0, 100) },
      });
      this.#putAway();
      this.#addCard(batch).element.scrollIntoView({ block: 'nearest' });
      say(`The batch of ${file.name} runs.`);
    } catch (error) {
      this.#complain(error.message);
      run.disabled = false;
      run.textContent = 'Run it';
    }
  }

  #addCard(batch) {
    const card = new BatchCard(batch);
    this.#cards.push(card);
    this.list.querySelector('.none')?.remove();
    this.list.prepend(card.element);
    return card;
  }

  #complain(text) {
    this.problem.textContent = text;
    this.problem.hidden = false;
  }
}

function firstRows(found) {
  return rowsTable(
    'The first rows',
    ['Id', 'Question'],
    found.map((line) => [String(line.custom_id), askedBy(line)]),
  );
}
