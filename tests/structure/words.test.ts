/**
 * Words that this project no longer uses, since the field has a better one (docs/glossary.md): they are refused in
 * names, comments and texts of src and in the pages of docs. The few uses that are contracts are listed with the reason.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { ROOT, sourceFiles, textFiles, walk, type SourceFile } from '../support/source.js';

/** Refused wherever they stand as a whole word, also in comments and sentences; each with what to say instead. */
const WORDS = new Map([
  ['lane', 'partition'],
  ['lanes', 'partitions'],
  ['waking', 'work item'],
  ['wakings', 'work items'],
  ['woken', 'enqueued'],
  ['weighed', 'evaluated, or weighted'],
  ['weighing', 'evaluation, or weighting'],
  ['outlook', 'the name of what it is'],
  ['outlooks', 'the name of what it is'],
  ['sighting', 'observed target'],
  ['sightings', 'observed targets'],
  ['untold', 'not stated'],
  ['hasten', 'expedite'],
  ['besides', 'apart from, in addition to'],
]);

/** Refused as a part of a name: fine in a sentence, but they say nothing of what a variable or a function is. */
const PARTS_OF_NAMES =
  /^(lanes?|wak(e|es|ing|ings)|woken|waker|weigh(s|ed|ing)?|outlooks?|sight(ed|ing|ings)|told|untold|telling|besides?|hasten|doors?|look(s|ed|ing)?|turns)$/i;
/** Names of functions that say nothing of what they do. */
const EMPTY_NAMES = new Set(['again', 'against', 'of', 'over', 'those', 'told', 'without', 'through']);

/** Contracts and the field's own words, by the whole name or word. */
const ALLOWED = new Map([
  ['weighedAt', 'a field of answers'],
  ['notWeighed', 'a field of answers'],
  ['looks', 'a field of what explain answers'],
  ['told', 'the state of an alert, as a key of the dashboard'],
  ['lane', 'the field of a queued job, which two versions share'],
  ['lookUp', 'plain English: to look up'],
  ['LookUp', 'plain English: a look-up'],
  ['looksLikeJson', 'plain English'],
  ['lookBack', 'the look-back window of commitments, as vendors call it'],
  ['lookBacks', 'as lookBack'],
  ['LookBack', 'as lookBack'],
  ['LookBackReading', 'as lookBack'],
  ['lookBackRules', 'as lookBack'],
  ['LOOK_BACK_DAYS', 'as lookBack'],
]);
/** Statements name columns (lane, waker, weighed_at); a queued job has the field `lane`; the log of a rename says both. */
const WORDS_ALLOWED_IN =
  /^(src\/store\/.*|src\/pipeline\/queue\.ts|docs\/glossary\.md|docs\/decisions\/0002-distribution\.md)$/;
/** Only the column and the field; no other word is allowed there. */
const COLUMNS = new Set(['lane']);

const partsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .split(/[_$]+/);

function names(file: SourceFile): string[] {
  const found: string[] = [];
  walk(file, (node, line) => {
    if (ts.isIdentifier(node) && !ALLOWED.has(node.text) && partsOf(node.text).some((one) => PARTS_OF_NAMES.test(one)))
      found.push(`${file.name}:${line} ${node.text}`);
    const isFunction =
      ts.isFunctionDeclaration(node) ||
      ts.isMethodDeclaration(node) ||
      (ts.isVariableDeclaration(node) && node.initializer !== undefined && ts.isArrowFunction(node.initializer));
    if (isFunction && node.name !== undefined && ts.isIdentifier(node.name) && EMPTY_NAMES.has(node.name.text))
      found.push(`${file.name}:${line} ${node.name.text}()`);
  });
  return found;
}

function words(file: SourceFile): string[] {
  return file.text.split('\n').flatMap((text, index) =>
    [...text.matchAll(/(?<![\w./'-])[a-z]+(?![\w-])/gi)].flatMap(([word]) => {
      const better = WORDS.get(word.toLowerCase());
      if (better === undefined) return [];
      if (WORDS_ALLOWED_IN.test(file.name) && (COLUMNS.has(word) || file.name === 'docs/glossary.md')) return [];
      return [`${file.name}:${index + 1} ${word}: say ${better}`];
    }),
  );
}

const SRC = sourceFiles('src');
const PAGES = [
  ...textFiles('docs', /\.md$/),
  ...['README.md', 'CONTRIBUTING.md', 'SCOPE.md', 'src/README.md'].map((name) => ({
    name,
    text: readFileSync(path.join(ROOT, name), 'utf8'),
  })),
];

describe('the retired words', () => {
  it('are in no name of src', () => expect(SRC.flatMap(names)).toEqual([]));
  it('are in no comment, text or statement of src', () => expect(SRC.flatMap(words)).toEqual([]));
  it('are on no page', () => expect(PAGES.flatMap(words)).toEqual([]));
});

describe('the rules themselves', () => {
  const on = (rule: (file: SourceFile) => string[], text: string, name = 'x.ts'): string[] => rule({ name, text });

  it('see what they are for', () => {
    expect(on(names, 'const sendWaking = 1;\nfunction again() {}\nconst of = () => 1;\nclass Outlook {}\n')).toEqual([
      'x.ts:1 sendWaking',
      'x.ts:2 again()',
      'x.ts:3 of()',
      'x.ts:4 Outlook',
    ]);
    expect(on(words, '/** One lane. */\nconst a = "is woken";\n')).toEqual([
      'x.ts:1 lane: say partition',
      'x.ts:2 woken: say enqueued',
    ]);
    expect(on(words, '`where lane = $1 and weighed`', 'src/store/x.ts')).toHaveLength(1);
  });

  it('leave alone what is fine', () => {
    expect(on(names, 'const lookBack = 1;\nfor (const one of [again]) of(one);\n')).toEqual([]);
    expect(on(words, '`where lane = $1 and weighed_at > $2`', 'src/store/x.ts')).toEqual([]);
    expect(on(words, "const stage = 'budget.weigh'; // a look-back, budget.weighed\n")).toEqual([]);
  });
});
