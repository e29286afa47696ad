/** Requests to the service, with the key of this tab. */

const KEY = 'cactus-key';
const listeners = new Set();

/** A refusal by the service, or a service that does not answer (status 0). */
export class ApiError extends Error {
  constructor(status, message, type = '', param = null) {
    super(message);
    this.status = status;
    this.type = type;
    this.param = param;
  }
}

/** The key of this tab, or an empty text. */
export const key = () => sessionStorage.getItem(KEY) ?? '';

/** Keep a key until the tab is closed; an empty one forgets it. */
export function setKey(text) {
  if (text) sessionStorage.setItem(KEY, text);
  else sessionStorage.removeItem(KEY);
}

/** Call `listener` with the reason when a request was refused for want of a key. */
export const onKeyNeeded = (listener) => listeners.add(listener);

/** A response with a status of success; raises ApiError. */
export async function request(path, options = {}) {
  const headers = { ...options.headers };
  if (key()) headers.Authorization = `Bearer ${key()}`;
  let response;
  try {
    response = await fetch(path, { cache: 'no-store', credentials: 'omit', ...options, headers });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, 'The service does not answer.');
  }
  if (response.ok) return response;
  const failure = await refusal(response);
  if (response.status === 401) for (const tell of listeners) tell(failure.message);
  throw failure;
}

export const getJson = async (path, options) => (await request(path, options)).json();

/** The response to a body of JSON. */
export const post = (path, body, options = {}) =>
  request(path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'Content-Type': 'application/json' },
    ...options,
  });

export const postJson = async (path, body, options) => (await post(path, body, options)).json();

async function refusal(response) {
  try {
    const { error } = await response.json();
    return new ApiError(response.status, error.message, error.type, error.param);
  } catch {
    return new ApiError(response.status, `The service answered with status ${response.status}.`);
  }
}
