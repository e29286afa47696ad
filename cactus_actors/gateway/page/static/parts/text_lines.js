/** Text files, read line by line. */

/**
 * The lines of a file as [number, text], without empty ones unless `keepsEmpty`.
 * With `isStrict`, bytes that are not UTF-8 are an error.
 */
export async function* linesOf(file, { keepsEmpty = false, isStrict = false } = {}) {
  const decoder = new TextDecoderStream('utf-8', { fatal: isStrict });
  const reader = file.stream().pipeThrough(decoder).getReader();
  let rest = '';
  let number = 0;
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      throw error instanceof TypeError ? new Error('The file is not text in UTF-8.') : error;
    });
    const lines = (rest + (value ?? '')).split('\n');
    rest = done ? '' : lines.pop();
    for (const line of lines) {
      number += 1;
      if (keepsEmpty || line.trim()) yield [number, line.replace(/\r$/, '')];
    }
    if (done) return;
  }
}
