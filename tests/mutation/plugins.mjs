/**
 * Three plugins for Stryker. `in-process` runs the tests (runner.mjs). `sentences` leaves sentences for people alone: a text with a space between two words. Codes,
 * names and keys are mutated like all other code; tests of pages and messages check which sentence a reader sees.
 * `survivors` prints each mutant that no test has killed as soon as this is known.
 */
import path from 'node:path';
import { InProcessRunner } from './runner.mjs';

const isSentence = (text) => /\S \S/.test(text) || /^ | $/.test(text);

const sentences = {
  shouldIgnore({ node }) {
    const text =
      node.type === 'StringLiteral'
        ? node.value
        : node.type === 'TemplateLiteral'
          ? node.quasis.map((one) => one.value.cooked ?? '').join('x')
          : '';
    return isSentence(text) ? 'a sentence for people' : undefined;
  },
};

class Survivors {
  onMutantTested({ status, fileName, location: { start, end }, mutatorName, replacement }) {
    if (status !== 'Survived' && status !== 'NoCoverage') return;
    const place = `${path.relative('', fileName)}:${start.line}:${start.column}-${end.line}:${end.column}`;
    const text = (replacement ?? '').replace(/\s+/g, ' ').slice(0, 100);
    console.log(`${status === 'Survived' ? 'survived' : 'no test '} ${place} ${mutatorName} -> ${text}`);
  }
}

export const strykerPlugins = [
  { kind: 'Ignore', name: 'sentences', value: sentences },
  { kind: 'Reporter', name: 'survivors', injectableClass: Survivors },
  { kind: 'TestRunner', name: 'in-process', injectableClass: InProcessRunner },
];
