/** The part of the page for calibrations: a risk-coverage curve, its threshold, and the answers on either side. */

import { field, h, say } from '../parts/dom.js';
import { dropArea } from '../parts/drop_area.js';
import { inPercent } from '../parts/numbers.js';
import { curveChart } from './curve_chart.js';
import { curveOf, groupsOf, placeOf, ranked, readAnswers, signalsOf } from './answers.js';
import { side } from './sides.js';

const ALL = '*';

/** Show the part in `root`. */
export function calibrateView(root) {
  new CalibrateView(root);
}

class CalibrateView {
  #data = null;
  #chosen = 0;

  constructor(root) {
    this.problem = h('p', { class: 'note bad', role: 'alert', hidden: true });
    this.signal = h('select', { onchange: () => this.#look() });
    this.group = h('select', { onchange: () => this.#look() });
    this.onlyWrong = h('input', { type: 'checkbox', onchange: () => this.#showSides() });
    this.slider = h('input', {
      type: 'range',
      min: '0',
      step: '1',
      oninput: () => this.#choose(Number(this.slider.value)),
    });
    this.result = h('div', { class: 'stack', hidden: true });
    this.chart = h('div');
    this.summary = h('p', { class: 'note', role: 'status' });
    this.sides = h('div', { class: 'sides' });
    root.append(
      h(
        'div',
        { class: 'page-width stack' },
        h('h1', { text: 'Calibrate' }),
        h(
          'p',
          { class: 'muted' },
          'Which answers stay, and which are handed off? Ask labelled questions with ',
          h('code', { text: 'cactus calibrate questions.jsonl --max-error 0.05 --answers answers.jsonl' }),
          ', and drop the file of answers here. It stays in this browser.',
        ),
        dropArea('Drop a file of answers here', '.jsonl,.json', (file) => this.#take(file)),
        this.problem,
        this.result,
      ),
    );
  }

  async #take(file) {
    this.problem.hidden = true;
    try {
      this.#data = await readAnswers(file);
    } catch (error) {
      this.result.hidden = true;
      this.problem.textContent = `${file.name}: ${error.message}`;
      this.problem.hidden = false;
      return;
    }
    const { head, answers } = this.#data;
    const found = new Set([head.signal, ...head.thresholds.map(({ signal }) => signal)]);
    const signals = signalsOf(answers).sort((one, other) => found.has(other) - found.has(one));
    const groups = groupsOf(answers);
    this.signal.replaceChildren(...signals.map((name) => h('option', { value: name, text: name })));
    this.group.replaceChildren(
      h('option', { value: ALL, text: 'All' }),
      ...groups.filter((name) => name).map((name) => h('option', { value: name, text: name })),
    );
    this.heading = h('h2', { tabindex: '-1', text: file.name });
    this.result.replaceChildren(
      h(
        'section',
        { class: 'card stack' },
        h('div', {}, this.heading, h('p', { class: 'muted', text: targetOf(head, answers.length) })),
        h(
          'div',
          { class: 'grid' },
          field('Signal', this.signal),
          groups.length > 1 ? field('Group', this.group) : null,
        ),
        this.chart,
        field('Threshold', this.slider),
        this.summary,
        h('label', { class: 'check' }, this.onlyWrong, 'Show wrong answers only'),
      ),
      this.sides,
    );
    this.result.hidden = false;
    this.#look();
    this.heading.focus();
  }

  #look() {
    const { head, answers } = this.#data;
    const group = this.group.value === ALL ? null : this.group.value;
    this.ranked = ranked(answers, this.signal.value, group);
    this.points = curveOf(this.ranked, this.signal.value);
    const granted = head.thresholds.find((one) => one.signal === this.signal.value && one.group === (group ?? ''));
    this.granted = granted ? placeOf(this.points, granted.threshold) : null;
    this.slider.max = String(this.points.length - 1);
    this.#choose(this.granted ?? this.points.length - 1);
  }

  #choose(place) {
    this.#chosen = place;
    this.slider.value = String(place);
    const { threshold, kept, wrong } = this.points[place];
    const total = this.ranked.length;
    const handedOff = this.ranked.slice(kept);
    const spared = handedOff.filter((one) => one.is_right).length;
    const words = Number.isFinite(threshold) ? threshold.toPrecision(6) : 'above all';
    this.slider.setAttribute('aria-valuetext', `${words}; ${kept} of ${total} stay`);
    this.summary.textContent =
      `${this.signal.value} ≥ ${words}${place === this.granted ? ' (the threshold that was found)' : ''}: ` +
      `${kept} of ${total} answers stay, ${wrong} of them wrong${kept ? ` (${inPercent(wrong / kept)})` : ''}. ` +
      `${handedOff.length} are handed off, ${spared} of them right.`;
    this.chart.replaceChildren(
      curveChart(this.points, total, {
        granted: this.granted,
        chosen: place,
        allowed: allowedOf(this.#data.head),
        choose: (clicked) => {
          this.#choose(clicked);
          say(this.summary.textContent);
        },
      }),
    );
    this.#showSides();
  }

  #showSides() {
    const { kept } = this.points[this.#chosen];
    const wanted = (one) => !this.onlyWrong.checked || !one.is_right;
    const stays = this.ranked.slice(0, kept).reverse().filter(wanted);
    const leaves = this.ranked.slice(kept).filter(wanted);
    const count = (list) =>
      `${list.length} ${this.onlyWrong.checked ? 'wrong ' : ''}answers, those next to the threshold first.`;
    this.sides.replaceChildren(
      side('They stay', stays, this.signal.value, count(stays)),
      side('They are handed off', leaves, this.signal.value, count(leaves)),
    );
  }
}

/** The share of wrong answers among those that stay that was asked for; null if a share of hand-offs was. */
function allowedOf({ max_error: maxError, precision }) {
  if (maxError !== null) return maxError;
  return precision === null ? null : 1 - precision;
}

function targetOf({ model, max_error: maxError, confidence, precision, cloud_share: share }, count) {
  const of = `${count} answers of ${model}. `;
  if (maxError !== null) {
    const bound = `At most ${inPercent(maxError)} of those that stay are wrong`;
    return `${of}${bound}, with ${inPercent(confidence)} confidence.`;
  }
  if (precision !== null) return `${of}${inPercent(precision)} of those that stay are right, in this sample.`;
  return `${of}At most ${inPercent(share)} are handed off, in this sample.`;
}
