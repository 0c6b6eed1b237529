/**
 * Reads trace files of spot availability for the measuring scripts beside it: their windows, and the recording that
 * they were cut from.
 *
 * It refuses what it cannot lay on one line: a window without `start_tick`, windows of two recordings in a file, two
 * readings of one tick that differ, a tick that no window tells of. The invariant: `readings[start + i]` is what the
 * window that begins at `start` says of its tick i.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';

/** JSON lines, compressed or not. */
function readLines(file) {
  const bytes = readFileSync(file);
  const text = (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString('utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** A file of whole recordings, one a line: the readings of each. */
export const readRecordings = (file) => readLines(file).map(({ available }) => Uint8Array.from(available, Number));

/**
 * One file: `readings` from the recording's tick `first` on (1 available), and by window where in `readings` it starts.
 */
export function readRecording(file) {
  const lines = readLines(file);
  const refuse = (why) => {
    throw new Error(`${file}: ${why}`);
  };
  if (new Set(lines.map((line) => line.original_trace)).size > 1) refuse('its windows come from several recordings');
  if (!lines.every((line) => Number.isInteger(line.start_tick))) refuse('a window has no start_tick');
  const first = Math.min(...lines.map((line) => line.start_tick));
  const readings = new Uint8Array(
    Math.max(...lines.map((line) => line.start_tick + line.available.length)) - first,
  ).fill(2);
  for (const { start_tick: start, available } of lines) {
    [...available].forEach((digit, i) => {
      const at = start - first + i;
      if (readings[at] !== 2 && readings[at] !== Number(digit)) refuse(`two windows differ at tick ${start + i}`);
      readings[at] = Number(digit);
    });
  }
  if (readings.includes(2)) refuse('the windows leave a gap');
  return {
    name: path.basename(file).replace(/(\.jsonl)?(\.gz)?$/, ''),
    tickSeconds: lines[0].gap_seconds,
    first,
    readings,
    starts: lines.map((line) => line.start_tick - first),
    lengths: lines.map((line) => line.available.length),
  };
}

/** Every nth of the windows, each cut to `ticks` readings; those that are shorter are refused. */
export function windowsOf({ name, readings, starts, lengths }, ticks, every) {
  if (lengths.some((length) => length < ticks)) throw new Error(`${name}: a window is shorter than the deadline`);
  return starts
    .filter((_, i) => i % every === 0)
    .map((start) => ({ start, available: readings.subarray(start, start + ticks) }));
}
