/** The part of the page for the service: an hour of charts, workers, and what operators do. */

import { ApiError, request } from '../parts/api.js';
import { h } from '../parts/dom.js';
import { eventsOf } from '../parts/events.js';
import { inPercent, short } from '../parts/numbers.js';
import { histogram, timeChart } from './charts.js';
import { drainButton, operationsCard } from './operations.js';
import { Series } from './series.js';
import { auditsTable, decisionsTable, errorsTable, tenantsTable, workersTable } from './tables.js';

const RETRY_MS = 3000;

/** Show the service in `root`; returns the function that leaves it. */
export function serviceView(root) {
  const view = new ServiceView(root);
  view.follow();
  return () => view.close();
}

class ServiceView {
  #series = new Series();
  #leaving = new AbortController();
  #operations = null;

  constructor(root) {
    this.facts = h('p', { class: 'muted', text: 'Asking the service …' });
    this.problem = h('p', { class: 'note bad', role: 'alert', hidden: true });
    this.charts = h('div', { class: 'charts' });
    this.actions = h('div');
    this.tables = h('div', { class: 'stack' });
    root.append(
      h(
        'div',
        { class: 'page-width stack' },
        h('div', {}, h('h1', { text: 'Service' }), this.facts),
        this.problem,
        this.charts,
        this.actions,
        this.tables,
      ),
    );
  }

  /** Read events until the view is left. */
  async follow() {
    while (!this.#leaving.signal.aborted) {
      try {
        const response = await request('/page/service', { signal: this.#leaving.signal });
        for await (const data of eventsOf(response)) this.#show(JSON.parse(data));
        this.#fail('The service ends, or the connection broke off. Trying again …');
      } catch (error) {
        if (this.#leaving.signal.aborted) return;
        this.#fail(error.message);
        if (error instanceof ApiError && error.status === 401) return;
      }
      await new Promise((resolve) => {
        setTimeout(resolve, RETRY_MS);
      });
    }
  }

  close() {
    this.#leaving.abort();
  }

  #fail(text) {
    this.problem.textContent = text;
    this.problem.hidden = false;
  }

  #show({ fields, samples, state }) {
    this.#series.add(fields, samples);
    if (!state.workers) {
      this.#fail('The router does not answer.');
      return;
    }
    this.problem.hidden = true;
    this.facts.textContent = factsOf(state);
    this.charts.replaceChildren(...chartsOf(this.#series, state));
    this.#showActions(state);
    this.#showTables(state);
  }

  /** The form is made once, so that nothing that is typed in gets lost. */
  #showActions(state) {
    if (state.is_operator && !this.#operations) {
      this.#operations = operationsCard(state);
      this.actions.replaceChildren(this.#operations);
    }
  }

  #showTables(state) {
    const focused = this.tables.contains(document.activeElement) ? document.activeElement : null;
    if (focused?.tagName === 'BUTTON') return; // until the button is left
    const label = focused?.getAttribute('aria-label');
    const drain = state.is_operator ? (worker) => drainButton(worker, state) : null;
    this.tables.replaceChildren(
      ...[
        workersTable(state.workers, drain),
        state.tenants ? tenantsTable(state.tenants) : null,
        errorsTable(state.errors),
        decisionsTable(state.decisions, state.scaling),
        auditsTable(state.audits),
      ].filter(Boolean),
    );
    if (label)
      [...this.tables.querySelectorAll('[aria-label]')]
        .find((one) => one.getAttribute('aria-label') === label)
        ?.focus();
  }
}

function factsOf({ model, version, uptime_s: uptime, is_draining: isDraining, jobs, oldest_waiting_s: oldest }) {
  const facts = [model, `version ${version}`, `up for ${duration(uptime)}`, `${short(jobs.finished)} answers`];
  if (jobs.failed) facts.push(`${short(jobs.failed)} failed`);
  if (oldest > 1) facts.push(`the oldest job waits for ${duration(oldest)}`);
  if (isDraining) facts.push('draining');
  return facts.join(' · ');
}

function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}

function chartsOf(series, state) {
  if (series.isEmpty) return [h('p', { class: 'muted', text: 'The first numbers come in a few seconds.' })];
  const line = (name, points) => ({ name, points });
  return [
    timeChart('Tokens/s', [
      line('written', series.rate('generated_tokens')),
      line('read', series.rate('prompt_tokens')),
    ]),
    timeChart('Jobs', [line('running', series.values('running')), line('waiting', series.values('queued'))]),
    timeChart('KV cache in use', [line('', series.values('kv_usage'))], { format: inPercent, most: 1 }),
    timeChart('Prompts found in the cache', [line('', series.share('prefix_hits', 'prefix_queries'))], {
      format: inPercent,
      most: 1,
    }),
    timeChart('Handed off', [line('', series.share('handed_off', 'ended'))], { format: inPercent, most: 1 }),
    timeChart('Worker count', [
      line('ready', series.values('workers')),
      line('desired', series.values('desired_workers')),
    ]),
    state.first_token_seconds
      ? histogram('Time to the first token', state.first_token_seconds, { hint: 'Since the router started.' })
      : null,
  ].filter(Boolean);
}
