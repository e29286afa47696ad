/** The dialog for the API key. */

import { key, onKeyNeeded, setKey } from './api.js';

/** Wire the dialog; `changed` is called with each new key. */
export function wireKeyDialog(changed) {
  const dialog = document.getElementById('key-dialog');
  const input = document.getElementById('key-input');
  const reason = document.getElementById('key-reason');
  const opener = document.getElementById('key-button');
  const about = reason.textContent;

  function open(text = about) {
    reason.textContent = text;
    input.value = key();
    if (!dialog.open) dialog.showModal();
    input.focus();
  }

  function show() {
    opener.textContent = key() ? 'Key ✓' : 'Key';
    opener.setAttribute('aria-label', key() ? 'API key: given' : 'API key: none');
  }

  opener.addEventListener('click', () => open());
  onKeyNeeded((message) => open(key() ? `This key is refused: ${message}` : `The service asks for a key. ${about}`));
  document.getElementById('key-forget').addEventListener('click', () => {
    input.value = '';
    dialog.close('use');
  });
  dialog.addEventListener('close', () => {
    if (dialog.returnValue !== 'use') return;
    const before = key();
    setKey(input.value.trim());
    input.value = '';
    dialog.returnValue = '';
    show();
    if (key() !== before) changed();
  });
  show();
}
