/** Text files, read line by line. */

/** The lines of a file that are not empty, as [number, text]. */
export async function* linesOf(file) {
  const reader = file.stream().pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let number = 0;
  for (;;) {
    const { value, done } = await reader.read();
    const lines = (rest + (value ?? '')).split('\n');
    rest = done ? '' : lines.pop();
    for (const line of lines) {
      number += 1;
      if (line.trim()) yield [number, line.replace(/\r$/, '')];
    }
    if (done) return;
  }
}
