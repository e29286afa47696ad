/** The file that `cactus calibrate --answers FILE` writes, and what a threshold does to its answers. */

import { linesOf } from '../parts/text_lines.js';

/** `{ head, answers }` of a file; raises Error for another kind of file. */
export async function readAnswers(file) {
  let head = null;
  const answers = [];
  for await (const [number, line] of linesOf(file)) {
    let record;
    try {
      record = JSON.parse(line);
    } catch (error) {
      throw new Error(`Line ${number} is not JSON: ${error.message}`);
    }
    if (number === 1 && record.type === 'calibration') head = record;
    else if (head && record.type === 'answer') answers.push(record);
    else throw new Error('This is no file of `cactus calibrate --answers FILE`.');
  }
  if (!answers.length) throw new Error('There is no answer in it.');
  return { head, answers };
}

/** The signals that any answer has a score by. */
export const signalsOf = (answers) => [...new Set(answers.flatMap(({ scores }) => Object.keys(scores)))];

/** The groups of the answers; one empty name where there are none. */
export const groupsOf = (answers) => [...new Set(answers.map(({ group }) => group))].sort();

/** The answers of a group that a signal scores, the surest first. */
export function ranked(answers, signal, group) {
  return answers
    .filter((one) => signal in one.scores && (group === null || one.group === group))
    .sort((one, other) => other.scores[signal] - one.scores[signal]);
}

/**
 * The risk-coverage curve of ranked answers: for each score as the threshold, how many stay and how many of them are
 * wrong. The first point hands off everything.
 */
export function curveOf(answers, signal) {
  const points = [{ threshold: Infinity, kept: 0, wrong: 0 }];
  let wrong = 0;
  answers.forEach((one, index) => {
    wrong += one.is_right ? 0 : 1;
    const threshold = one.scores[signal];
    if (answers[index + 1]?.scores[signal] !== threshold) points.push({ threshold, kept: index + 1, wrong });
  });
  return points;
}

/** The place on the curve of a threshold: the answers with at least this score stay. */
export function placeOf(points, threshold) {
  return Math.max(
    0,
    points.findLastIndex((point) => point.threshold >= threshold),
  );
}
