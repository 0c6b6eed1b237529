#!/usr/bin/env node
/**
 * Turns the event logs of data/gpu-spot-availability-2020 into traces that `bursar backtest spot` reads, one file per
 * instance that was kept asked for.
 *
 *   node tests/backtest/spot-2020.mjs --logs FOLDER --out FOLDER
 *
 * Both logs tell of a fixed list of instances in rounds of ten to twelve minutes, taken to be ticks of ten. A reading
 * is 1 where the round found the instance running, or could launch it after a round that could not; it is 0 where it
 * had been preempted, also when it could be launched again at once, and where a launch failed. Windows of 40 hours
 * begin every two hours. It decides nothing and learns nothing.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { logs: { type: 'string' }, out: { type: 'string' } } });
const linesOf = (name) => readFileSync(path.join(values.logs, name), 'utf8').trim().split('\n');

/** The list of the AWS log, in the order of each round; a failed launch names neither zone nor instance. */
const AWS = ['us-east-1b', 'us-east-1c'].flatMap((zone) =>
  ['v100_1', 'v100_8', 'k80_1', 'k80_8'].map((kind) => `aws-${zone}_${kind}`),
);

function awsReadings() {
  const readings = AWS.map(() => []);
  let [at, preempted] = [0, false];
  for (const line of linesOf('aws_persistent_2020-03-15.out.txt')) {
    if (line.includes('Successfully deleted')) continue;
    // What follows is the launch that was tried in its place.
    if (line.includes('not running')) preempted = true;
    else {
      readings[at].push(preempted || line.includes('creation failed') ? 0 : 1);
      [at, preempted] = [(at + 1) % AWS.length, false];
    }
  }
  return new Map(AWS.map((name, i) => [name, readings[i]]));
}

function gcpReadings() {
  const readings = new Map();
  let [round, last] = [new Set(), -1];
  for (const line of linesOf('gcp_persistent_2020-03-01.out.txt')) {
    const told = /Instance instance(\d+) (not )?running in zone (\S+)/.exec(line);
    if (told === null) continue;
    const [, number, preempted, zone] = told;
    if (Number(number) < last) round = new Set();
    last = Number(number);
    // The first word of a round counts: a launch in place of what was preempted comes after it.
    if (round.has(number)) continue;
    round.add(number);
    const name = `gcp-${zone}_${number}`;
    readings.set(name, [...(readings.get(name) ?? []), preempted === undefined ? 1 : 0]);
  }
  return readings;
}

const WINDOW_TICKS = 240;
const STEP_TICKS = 12;

mkdirSync(values.out, { recursive: true });
for (const [name, readings] of [...awsReadings(), ...gcpReadings()]) {
  const windows = [];
  for (let start = 0; start + WINDOW_TICKS <= readings.length; start += STEP_TICKS) {
    windows.push(
      JSON.stringify({
        original_trace: name,
        start_tick: start,
        gap_seconds: 600,
        available: readings.slice(start, start + WINDOW_TICKS).join(''),
      }),
    );
  }
  writeFileSync(path.join(values.out, `${name}.jsonl`), `${windows.join('\n')}\n`);
}
