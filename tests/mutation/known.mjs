/**
 * `npm run test:bites`: breaks the pure rooms in each way that the list beside this file (known.json) names, one at a
 * time, and runs the nearest tests, of which one must fail. The list is of faults that once would have passed, and of
 * the rules that matter most. It takes seconds, so that every CI refuses tests that do not notice them. `run.mjs`
 * measures the rest.
 *
 * Ends with 1 where no test fails for a fault, where a test fails without one, or where the text of a fault is not
 * found exactly once: then the code has changed, and the list has to follow it.
 */
import { readFileSync } from 'node:fs';
import { register } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { taken } from './suite.mjs';

const root = path.resolve(import.meta.dirname, '../..');
process.chdir(root);
process.env.BURSAR_PROPERTY_SEED ??= '1';

const faults = JSON.parse(readFileSync(path.join(import.meta.dirname, 'known.json'), 'utf8'));
register('./hooks.mjs', import.meta.url, { data: { faults } });

/** The first failure of some files' tests, loaded anew with a fault; null: all pass. */
async function firstFailure(files, fault) {
  for (const file of files) {
    await import(`${pathToFileURL(path.resolve(file)).href}?${fault}`);
    for (const { name, body } of taken()) {
      try {
        await body();
      } catch (error) {
        return `${name}: ${String(error?.message).split('\n')[0]}`;
      }
    }
  }
  return null;
}

let wrong = 0;
const say = (text) => {
  wrong += 1;
  console.log(text);
};

for (const file of new Set(faults.flatMap(({ tests }) => tests))) {
  const failure = await firstFailure([file], 'none');
  if (failure !== null) say(`fails without a fault: ${file}: ${failure}`);
}
for (const [index, { file, from, to, tests }] of faults.entries()) {
  const count = readFileSync(file, 'utf8').split(from).length - 1;
  if (count !== 1) say(`found ${count} times, not once: ${file}: ${from}`);
  else if ((await firstFailure(tests, index)) === null)
    say(`no test fails: ${file}: ${from} -> ${to} (${tests.join(', ')})`);
}
console.log(`known faults: ${faults.length - wrong} of ${faults.length} are noticed`);
process.exitCode = wrong > 0 ? 1 : 0;
