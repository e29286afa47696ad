/** Buttons that go through the alternatives of a turn. */

import { button, h } from '../parts/dom.js';

/** The buttons; null for a turn without alternatives. */
export function versionButtons(conversation, turn, changed) {
  const all = conversation.versions(turn.id);
  if (all.length < 2) return null;
  const at = all.findIndex((one) => one.id === turn.id);
  const go = (to) => () => {
    conversation.show(all[to].id);
    changed();
  };
  return h(
    'span',
    { class: 'row versions' },
    button('‹', go(at - 1), { class: 'plain', disabled: at === 0, 'aria-label': 'Earlier version' }),
    h('span', { class: 'small muted', text: `${at + 1} of ${all.length}` }),
    button('›', go(at + 1), { class: 'plain', disabled: at === all.length - 1, 'aria-label': 'Later version' }),
  );
}
