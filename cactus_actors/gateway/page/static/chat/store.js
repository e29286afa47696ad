/** Conversations in this browser: IndexedDB, or this tab's memory where a browser refuses that. */

import { Conversation } from './conversation.js';

const memory = new Map();
let opened = null;

/** All conversations, the newest first. */
export async function allConversations() {
  const records = (await inStore('readonly', (store) => store.getAll())) ?? [...memory.values()];
  return records.map((record) => new Conversation(record)).sort((one, other) => other.updatedAt - one.updatedAt);
}

export async function save(conversation) {
  const record = conversation.toRecord();
  memory.set(record.id, record);
  await inStore('readwrite', (store) => store.put(record));
}

export async function remove(id) {
  memory.delete(id);
  await inStore('readwrite', (store) => store.delete(id));
}

function database() {
  opened ??= new Promise((resolve, reject) => {
    const asked = indexedDB.open('cactus', 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore('conversations', { keyPath: 'id' });
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });
  return opened;
}

/** The result of one request to the store; undefined where there is no database. */
async function inStore(mode, work) {
  try {
    const base = await database();
    return await new Promise((resolve, reject) => {
      const asked = work(base.transaction('conversations', mode).objectStore('conversations'));
      asked.onsuccess = () => resolve(asked.result);
      asked.onerror = () => reject(asked.error);
    });
  } catch {
    return undefined;
  }
}
