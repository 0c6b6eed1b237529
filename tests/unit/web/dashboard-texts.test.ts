/**
 * The dashboard's catalogues: the same keys, holes and tags in both languages, a word for every code, each text used,
 * and no English beside them in the sources. What is seen in the browser is held by
 * tests/e2e/dashboard-language.test.ts.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ACTION_STATES } from '../../../src/core/action/action.js';
import { ALERT_KINDS, ALERT_STATES, ANSWERS, OUTCOMES, SEVERITIES } from '../../../src/core/alert/alert.js';
import { EFFECT_KINDS } from '../../../src/core/fleet/fleet.js';
import { HEALTH_RULES } from '../../../src/core/fleet/health.js';
import type { Policy } from '../../../src/core/policy/policy.js';
import { POLICY_MODES } from '../../../src/core/policy/document.js';
import { ACTIONS } from '../../../src/core/policy/recommendation.js';
import { readerOf } from '../../../src/core/report/reader.js';
import { LEDGER_STATES } from '../../../src/core/saving/saving.js';
import { TERMS } from '../../../src/core/usage.js';
import { loadParts } from '../../../src/parts.js';
import { code, day, duration, instant, money, month, percent } from '../../../src/web/dashboard/format.js';
import { HELP_TERMS } from '../../../src/web/dashboard/help-terms.js';
import { fill, isKey, joined, loadTexts, reader, say, type TextKey } from '../../../src/web/dashboard/language.js';
import { choiceOf } from '../../../src/web/dashboard/field-values.js';
import type { Schema } from '../../../src/web/dashboard/answers.js';
import { CHINESE } from '../../../src/web/dashboard/texts/chinese.js';
import { ENGLISH } from '../../../src/web/dashboard/texts/english.js';
import { sectionOf, SECTION_NAMES } from '../../../src/web/dashboard/settings/sections.js';
import { POLICY_PURPOSES } from '../../../src/core/report/chinese/purposes.js';
import { DESCRIPTIONS, PARAMETERS } from '../../../src/web/dashboard/texts/policies-chinese.js';
import { FIELD_NAMES, FIELD_NOTES, FIELD_VALUES } from '../../../src/web/dashboard/texts/settings-fields-chinese.js';
import { ROOT, sourceFiles, walk } from '../../support/source.js';

const KEYS = Object.keys(ENGLISH) as TextKey[];
const holesOf = (text: string): string[] =>
  [...new Set([...text.matchAll(/\{(\w+)/g)].map(([, name]) => name ?? ''))].sort();
const tagsOf = (text: string): string[] => [...text.matchAll(/<(\/?\w+)>/g)].map(([, name]) => name ?? '').sort();

await loadTexts('zh');

afterEach(() => {
  reader.value = readerOf('en');
});

describe('the catalogues', () => {
  it('have the same keys, in the same order', () => {
    expect(Object.keys(CHINESE)).toEqual(KEYS);
  });

  it('have the same holes and tags in every text', () => {
    const partsOf = (texts: Readonly<Record<TextKey, string>>): unknown =>
      KEYS.map((key) => [key, holesOf(texts[key]), tagsOf(texts[key])]);
    expect(partsOf(CHINESE)).toEqual(partsOf(ENGLISH));
    expect([holesOf('{n} {n:day|days} of {team}'), tagsOf('see <a>it</a>')]).toEqual([
      ['n', 'team'],
      ['/a', 'a'],
    ]);
  });

  it('have no empty text, and none that was left in English', () => {
    const same = KEYS.filter(
      (key) =>
        CHINESE[key].trim() === '' ||
        (CHINESE[key] === ENGLISH[key] && /[A-Za-z]{2}/.test(ENGLISH[key].replace(/\{[^}]*\}/g, ''))),
    );
    expect(same).toEqual([]);
  });

  it('punctuate Chinese as Chinese', () => {
    expect(KEYS.filter((key) => /[\u4e00-\u9fff][,;:!?(]/.test(CHINESE[key]))).toEqual([]);
  });

  it('have words for every code that core names', () => {
    const codes = [
      ...ACTION_STATES.map((one) => `state.${one}`),
      ...LEDGER_STATES.map((one) => `state.${one}`),
      ...EFFECT_KINDS.map((one) => `act.${one}`),
      ...ACTIONS.map((one) => `do.${one}`),
      ...POLICY_MODES.flatMap((one) => [`mode.${one}`, `mode-note.${one}`]),
      ...TERMS.map((one) => `term.${one}`),
      ...ALERT_KINDS.map((one) => `alert.${one}`),
      ...ALERT_STATES.flatMap((one) => [`alert-state.${one}`, `alerts.is-${one}`]),
      ...SEVERITIES.map((one) => `severity.${one}`),
      ...ANSWERS.map((one) => `answer.${one}`),
      ...OUTCOMES.map((one) => `outcome.${one}`),
      ...HEALTH_RULES.map((one) => `health.${one}`),
    ];
    expect(codes.filter((key) => !isKey(key))).toEqual([]);
  });
});

describe('what policies say of themselves', () => {
  it('has Chinese words for every policy, parameter and description, and for nothing that is gone', async () => {
    const [names, descriptions] = [new Set<string>(), new Set<string>()];
    const walkSchema = ({ description, properties = {}, anyOf = [], items }: Schema): void => {
      if (description !== undefined) descriptions.add(description);
      Object.keys(properties).forEach((name) => names.add(name));
      for (const one of [...Object.values(properties), ...anyOf, ...(items === undefined ? [] : [items])])
        walkSchema(one);
    };
    for (const { description, params } of await loadParts<Policy>('policies', 'policy', () => [])) {
      descriptions.add(description);
      walkSchema(z.toJSONSchema(params, { io: 'input', unrepresentable: 'any' }) as Schema);
    }
    const hint = 'the names of parameters in src/web/dashboard/texts/policies-chinese.ts';
    expect(Object.keys(PARAMETERS).sort(), hint).toEqual([...names].sort());
    expect(Object.keys({ ...DESCRIPTIONS, ...POLICY_PURPOSES }).sort()).toEqual([...descriptions].sort());
  });
});

/** Names and descriptions of all that a schema holds, as the forms of the settings show them. */
function fieldsOf(wanted: readonly string[]): {
  readonly names: string[];
  readonly notes: string[];
  /** Field and value of every enumeration and every kind. */
  readonly values: (readonly [field: string, value: string])[];
} {
  type Node = Schema & { readonly $ref?: string };
  const { components } = JSON.parse(readFileSync(path.join(ROOT, 'docs/reference/openapi.json'), 'utf8')) as {
    components: { schemas: Record<string, Node> };
  };
  const [names, notes] = [new Set<string>(), new Set<string>()];
  const values = new Map<string, readonly [string, string]>();
  const walkSchema = ({ $ref, ...given }: Node, field = ''): void => {
    const target = $ref === undefined ? {} : components.schemas[$ref.replace('#/components/schemas/', '')];
    const {
      description,
      properties = {},
      anyOf = [],
      items,
      additionalProperties: more,
      enum: words = [],
      const: fixed,
    }: Schema = { ...target, ...given };
    if (description !== undefined) notes.add(description);
    Object.keys(properties).forEach((name) => names.add(name));
    const within = [items, typeof more === 'object' ? more : undefined].filter((one) => one !== undefined);
    for (const one of [...words, ...(fixed === undefined ? [] : [String(fixed)])])
      values.set(`${field} ${one}`, [field, one]);
    for (const [name, one] of Object.entries(properties)) walkSchema(one, name);
    for (const one of [...anyOf, ...within]) walkSchema(one, field);
  };
  for (const name of wanted) {
    const schema = components.schemas[name];
    if (schema === undefined) throw new Error(`the API has no schema ${name}`);
    walkSchema(schema);
  }
  return { names: [...names], notes: [...notes], values: [...values.values()] };
}

describe('the numbers of a recommendation', () => {
  it('have words whatever policy they are of, as far as its examples go', async () => {
    const names = new Set<string>();
    for (const policy of await loadParts<Policy>('policies', 'policy', () => []))
      for (const { view, params } of policy.examples)
        for (const { computation } of policy.evaluate(view, policy.params.parse(params)))
          Object.keys(computation).forEach((name) => names.add(name));
    expect(names.size).toBeGreaterThan(40);
    const hint = 'give each its words in src/core/policy/computation.ts and texts/chinese/measures.ts';
    expect(
      [...names].filter((name) => !isKey(`measure.${name}`)),
      hint,
    ).toEqual([]);
  });
});

describe('the terms', () => {
  it('have a name and a meaning each, and are all on the page of terms', () => {
    const explained = KEYS.flatMap((key) => /^help\.(.+)-text$/.exec(key)?.[1] ?? []);
    expect(HELP_TERMS.toSorted()).toEqual(explained.toSorted());
    expect(HELP_TERMS.filter((term) => !isKey(`help.${term}`))).toEqual([]);
  });
});

describe('what the settings say of their fields', () => {
  it('has Chinese words for every field and note that a form shows, and for nothing that is gone', () => {
    const own = sourceFiles('src/web/dashboard/settings').flatMap(({ text }) =>
      [...text.matchAll(/schemaNamed\('(\w+)'\)/g)].map(([, name = '']) => name),
    );
    expect(own.toSorted()).toEqual(['KeyRequest', 'MuteRequest', 'RuleChange']);
    const { names, notes, values } = fieldsOf([...SECTION_NAMES.map((name) => sectionOf(name).schema), ...own]);
    expect(names.filter((name) => !(name in PARAMETERS) && !(name in FIELD_NAMES))).toEqual([]);
    expect(Object.keys(FIELD_NAMES).filter((name) => !names.includes(name))).toEqual([]);
    reader.value = readerOf('zh');
    expect(values.length).toBeGreaterThan(60);
    expect(values.filter(([field, value]) => choiceOf(field, value) === value)).toEqual([]);
    const known = (field: string, value: string): boolean => values.some(([f, v]) => f === field && v === value);
    const gone = Object.entries(FIELD_VALUES).flatMap(([field, of]) =>
      Object.keys(of).filter((one) => !known(field, one)),
    );
    expect(gone).toEqual([]);
    expect(Object.keys(FIELD_NOTES).toSorted()).toEqual(notes.filter((note) => !(note in DESCRIPTIONS)).toSorted());
  });
});

describe('a text', () => {
  it('is filled, by number where it chooses, with numbers in the reader’s form', () => {
    expect([say('count.teams', { n: 1 }), say('count.teams', { n: 1200 })]).toEqual(['1 team', '1,200 teams']);
    reader.value = readerOf('zh');
    expect([say('count.teams', { n: 1 }), say('count.teams', { n: 1200 })]).toEqual(['1 个团队', '1,200 个团队']);
    expect(joined(['一', null, '二'])).toBe('一，二');
  });

  it('takes what it is filled with as it is, braces and dollars too', () => {
    expect(say('of-team', { team: '$& {team}' })).toBe('Of the team $& {team}');
    expect(fill('{a} {b}', { a: 'x' })).toBe('x {b}');
  });

  it('is a code’s own words where the catalogue has none', () => {
    expect([code('event', 'no-such_code'), code('state', 'rolled-back')]).toEqual(['No such code', 'Rolled back']);
  });
});

describe('amounts and dates', () => {
  it('have no sign where they round to nothing', () => {
    expect([money('-0.004', 'USD'), money('-0.4', 'USD', true), money('-0.4', 'USD')]).toEqual([
      '$0.00',
      '$0',
      '-$0.40',
    ]);
  });

  it('are in the form of the reader’s region, exact in every language', () => {
    const shown = (): string[] =>
      [
        money('90071992547409931.25', 'USD'),
        money(null, 'USD'),
        percent(0.825),
        day('2026-11-18T23:00:00Z'),
        instant('2026-11-18T23:05:00Z'),
        month('2026-11'),
        duration(7300),
      ].map((text) => text.replace(/\s/g, ' '));
    expect(shown()).toEqual([
      '$90,071,992,547,409,931.25',
      'unknown',
      '83%',
      'Nov 18, 2026',
      'Nov 18, 2026, 11:05 PM UTC',
      'November 2026',
      '2 h',
    ]);
    reader.value = readerOf('zh');
    expect(shown()).toEqual([
      'US$90,071,992,547,409,931.25',
      '未知',
      '83%',
      '2026年11月18日',
      '2026年11月18日 23:05 UTC',
      '2026年11月',
      '2 小时',
    ]);
    reader.value = { language: 'en', locale: 'en-GB' };
    expect(day('2026-11-18T23:00:00Z')).toBe('18 Nov 2026');
  });
});

/** Attributes whose value people read. */
const READ = new Set([
  'title',
  'label',
  'name',
  'note',
  'lead',
  'caption',
  'summary',
  'aria-label',
  'placeholder',
  'alt',
  'trouble',
  'none',
  'empty',
  'many',
]);
const ENGLISH_WORD = /[A-Za-z]{2,}/;
/** Names that every language has. */
const PROPER = new Set(['Bursar', 'UTC']);

describe('the sources', () => {
  const files = sourceFiles('src/web/dashboard').filter(({ name }) => !name.includes('/texts/'));

  /** Texts that are written where they are drawn. */
  function written(file: (typeof files)[number]): string[] {
    const found: string[] = [];
    walk(file, (node, line) => {
      const isRead =
        (ts.isJsxText(node) && !isCode(node.parent)) ||
        (ts.isStringLiteralLike(node) && ts.isJsxAttribute(node.parent) && READ.has(node.parent.name.getText()));
      const text = ts.isJsxText(node) || ts.isStringLiteralLike(node) ? node.text.replace(/&\w+;/g, ' ').trim() : '';
      if (isRead && ENGLISH_WORD.test(text) && !PROPER.has(text)) found.push(`${file.name}:${line} ${text}`);
    });
    return found;
  }

  const isCode = (node: ts.Node): boolean => ts.isJsxElement(node) && node.openingElement.tagName.getText() === 'code';

  it('hold no text of their own', () => {
    expect(files.flatMap(written)).toEqual([]);
    expect(
      written({ name: 'x.tsx', text: 'const a = <p title="Some title">Two words <code>bursar</code></p>;' }),
    ).toEqual(['x.tsx:1 Some title', 'x.tsx:1 Two words']);
  });

  it('use every text that is no code of the API', () => {
    const all = files.map(({ text }) => text).join('\n');
    const groups = [...all.matchAll(/code\('([\w-]+)'/g)].map(([, group]) => `${group}.`);
    const made = [...all.matchAll(/`([\w-]+[.-](?:[\w]+-)?)\$\{/g)].map(([, start]) => start ?? '');
    const unused = KEYS.filter(
      (key) =>
        !all.includes(`'${key}'`) &&
        !all.includes(`"${key}"`) &&
        ![...groups, ...made].some((start) => key.startsWith(start)),
    );
    expect(unused).toEqual([]);
  });
});
