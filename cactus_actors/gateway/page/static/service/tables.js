/** Tables of the service: workers, whose jobs wait, failures, decisions, audits. */

import { h } from '../parts/dom.js';
import { inPercent, short } from '../parts/numbers.js';

/** A table in a card; `rows` are lists of texts or elements, and `none` stands in the place of no rows. */
export function tableCard(title, heads, rows, none) {
  const cell = (content, index) => h('td', { class: heads[index].startsWith('#') ? 'number' : false }, content);
  const body = rows.length
    ? h(
        'div',
        { class: 'scroll-x', tabindex: '0', role: 'region', 'aria-label': title },
        h(
          'table',
          {},
          h(
            'thead',
            {},
            h(
              'tr',
              {},
              ...heads.map((head) =>
                h('th', {
                  scope: 'col',
                  class: head.startsWith('#') ? 'number' : false,
                  text: head.replace('#', ''),
                }),
              ),
            ),
          ),
          h('tbody', {}, ...rows.map((row) => h('tr', {}, ...row.map(cell)))),
        ),
      )
    : h('p', { class: 'muted', text: none });
  return h('section', { class: 'card wide' }, h('h2', { text: title }), body);
}

export function workersTable(workers, act) {
  const rows = workers.map((worker) => [
    h('span', {}, h('strong', { text: worker.worker_id }), ' ', stateBadge(worker)),
    [worker.model, worker.node, worker.kernels && `${worker.kernels} ×${worker.threads}`, worker.weights]
      .filter(Boolean)
      .join(' · '),
    meter(worker.num_running, worker.num_slots, `${worker.num_running} of ${worker.num_slots} sequences`),
    worker.num_blocks
      ? meter(
          worker.num_blocks - worker.free_blocks,
          worker.num_blocks,
          `${inPercent(1 - worker.free_blocks / worker.num_blocks)} of the KV cache`,
        )
      : '–',
    short(worker.tokens_generated),
    worker.ram_usage_mb ? `${short(worker.ram_usage_mb)} MB` : '–',
    `${worker.last_seen_s.toFixed(1)} s`,
    ...(act ? [act(worker)] : []),
  ]);
  const heads = [
    'Worker',
    'What it is',
    'Running',
    'KV cache',
    '#Tokens',
    '#Memory',
    '#Seen',
    ...(act ? ['Action'] : []),
  ];
  return tableCard('Workers', heads, rows, 'No worker is connected.');
}

function stateBadge({ kind, state, unavailable, breaker }) {
  if (unavailable) return h('span', { class: 'badge warn', text: unavailable });
  if (breaker && breaker !== 'closed')
    return h('span', { class: 'badge bad', text: `breaker ${breaker.replace('_', ' ')}` });
  return h('span', {
    class: `badge ${kind === 'cloud' ? 'cloud' : state === 'ready' ? 'good' : 'warn'}`,
    text: kind === 'cloud' ? 'cloud' : state,
  });
}

function meter(value, most, label) {
  return h(
    'span',
    { class: 'meter' },
    h('meter', { min: '0', max: String(Math.max(1, most)), value, 'aria-label': label }),
    h('span', { class: 'small', text: label }),
  );
}

export function tenantsTable(tenants) {
  const name = (tenant) => (tenant.is_own ? 'This key' : tenant.name.slice(0, 16) || 'Without a name');
  return tableCard(
    'Whose jobs wait',
    ['Owner', '#Waiting', '#Running'],
    tenants.map((tenant) => [name(tenant), String(tenant.waiting), String(tenant.running)]),
    'No job waits or runs.',
  );
}

export function errorsTable(errors) {
  const rows = [...errors]
    .reverse()
    .map((error) => [
      time(error.at),
      h('span', { class: `badge ${error.status >= 500 ? 'bad' : 'warn'}`, text: String(error.status) }),
      h('code', { text: error.path }),
      error.message || h('span', { class: 'muted', text: `${error.type} (of another key)` }),
    ]);
  return tableCard(
    'Last errors',
    ['When', 'Status', 'Path', 'What was said'],
    rows.slice(0, 25),
    'No request has failed.',
  );
}

export function decisionsTable(decisions, scaling) {
  const rows = [...decisions]
    .reverse()
    .map(({ at, model, num_workers: workers, reason }) => [time(at), model, String(workers), reason || '–']);
  const range = scaling
    ? `The load decides between ${scaling.min_workers} and ${scaling.max_workers} workers.`
    : 'The number of workers is fixed.';
  return tableCard('Scaling decisions', ['When', 'Model', '#Workers', 'Why'], rows, `None so far. ${range}`);
}

export function auditsTable(audits) {
  const rows = audits.map((audit) => [
    audit.tier || 'answers that stay',
    h('span', {
      class: `badge ${audit.has_drifted ? 'bad' : 'good'}`,
      text: audit.has_drifted ? 'drifted' : 'within the bound',
    }),
    `${audit.monitored_wrong} of ${audit.monitored}`,
    String(audit.unjudged),
    audit.evidence.toFixed(2),
    audit.min_threshold.toFixed(3),
  ]);
  return tableCard(
    'Audits',
    ['Of', 'State', '#Wrong', '#Unjudged', '#Evidence', '#Least threshold'],
    rows,
    'Audits are off.',
  );
}

function time(at) {
  const when = new Date(at * 1000);
  return h('time', { datetime: when.toISOString(), text: when.toLocaleTimeString() });
}
