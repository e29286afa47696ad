/** The list of conversations. */

import { button, h } from '../parts/dom.js';

/** The list; `open`, `create` and `remove` act on a conversation, `close` takes the list away on a narrow screen. */
export function sidebar({ conversations, current, open, create, remove, close }) {
  const items = conversations.map((one) =>
    h(
      'li',
      {},
      h('button', {
        type: 'button',
        class: 'name',
        text: one.title || 'New conversation',
        title: one.title,
        'aria-current': one.id === current.id ? 'true' : null,
        onclick: () => open(one),
      }),
      button('×', () => remove(one), {
        class: 'plain remove',
        'aria-label': `Delete ${one.title || 'this conversation'}`,
      }),
    ),
  );
  return h(
    'nav',
    { class: 'chat-list', 'aria-label': 'Conversations' },
    h(
      'div',
      { class: 'row between' },
      button('New conversation', create, { class: 'main' }),
      button('Close', close, { class: 'only-narrow' }),
    ),
    h('ul', {}, ...items),
    h('p', { class: 'muted small', text: 'Conversations are kept in this browser only.' }),
  );
}
