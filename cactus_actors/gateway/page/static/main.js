/** The frame of the page: its parts by the address's fragment, the key, and the state of the service. */

import { getJson, key } from './parts/api.js';
import { h } from './parts/dom.js';
import { wireKeyDialog } from './parts/key_dialog.js';
import { batchView } from './batch/batch_view.js';
import { calibrateView } from './calibrate/calibrate_view.js';
import { chatView } from './chat/chat_view.js';
import { serviceView } from './service/service_view.js';

const PARTS = {
  chat: { title: 'Chat', view: chatView },
  service: { title: 'Service', view: serviceView },
  batch: { title: 'Batch', view: batchView },
  calibrate: { title: 'Calibrate', view: calibrateView },
};
const STATE_INTERVAL_MS = 10_000;

const main = document.getElementById('main');
let shown = null;
let close = () => {};

function show(name) {
  const part = PARTS[name] ?? PARTS.chat;
  if (part === shown) return;
  close();
  shown = part;
  document.title = `${part.title} · cactus`;
  for (const link of document.querySelectorAll('#tabs a')) {
    if (link.hash.slice(1) === name) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const root = h('div', { class: `part ${part.title.toLowerCase()}` });
  main.replaceChildren(root);
  close = part.view(root) ?? (() => {});
}

function current() {
  const name = location.hash.slice(1);
  return name in PARTS ? name : 'chat';
}

async function showState() {
  const state = document.getElementById('service-state');
  let text = 'no answer';
  let kind = 'bad';
  try {
    const response = await fetch('/health', { cache: 'no-store', credentials: 'omit' });
    [text, kind] = response.ok ? ['ready', 'good'] : [(await response.json()).error.message, 'waiting'];
  } catch {
    /* the text says so */
  }
  if (state.textContent !== text)
    state.replaceChildren(h('span', { class: `dot ${kind}`, 'aria-hidden': 'true' }), text);
}

document
  .getElementById('tabs')
  .append(
    ...Object.entries(PARTS).map(([name, { title }]) => h('li', {}, h('a', { href: `#${name}`, text: title }))),
  );
addEventListener('hashchange', () => {
  if (location.hash === '#main') {
    main.focus();
    return;
  }
  show(current());
  main.focus({ preventScroll: true });
});
wireKeyDialog(() => {
  shown = null;
  show(current());
});
show(current());
showState();
setInterval(showState, STATE_INTERVAL_MS);
if (!key()) getJson('/v1/models').catch(() => {}); // asks for a key where one is needed
