/** The line above a conversation: its title, the model, export and settings. */

import { button, h } from '../parts/dom.js';
import { exportJson, exportMarkdown } from './export.js';

/** The elements of the line. */
export function headOf({ conversation, models, isSettingsOpen, changed, openList, toggleSettings }) {
  const picker = h(
    'select',
    {
      'aria-label': 'Model',
      onchange: () => {
        conversation.settings.model = picker.value;
        changed();
      },
    },
    h('option', { value: '', text: models.length ? `${models[0].id}` : 'Default model' }),
    ...models.slice(1).map(({ id }) => h('option', { value: id, text: id })),
  );
  picker.value = models.slice(1).some(({ id }) => id === conversation.settings.model)
    ? conversation.settings.model
    : '';
  const save = h(
    'select',
    {
      'aria-label': 'Export',
      onchange: () => {
        if (save.value === 'json') exportJson(conversation);
        else exportMarkdown(conversation);
        save.value = '';
      },
    },
    h('option', { value: '', text: 'Export' }),
    h('option', { value: 'md', text: 'Markdown' }),
    h('option', { value: 'json', text: 'JSON' }),
  );
  return [
    button('☰', openList, { class: 'only-narrow', 'aria-label': 'Conversations' }),
    h('h1', { text: conversation.title || 'New conversation' }),
    picker,
    save,
    button('Settings', toggleSettings, { 'aria-expanded': String(isSettingsOpen), 'aria-controls': 'chat-settings' }),
  ];
}
