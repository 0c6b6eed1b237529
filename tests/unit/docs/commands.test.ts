/**
 * The command lines that the documents name are those of the command line: each is given to its own parser, which
 * carries nothing out.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { programOf } from '../../../src/cli/program.js';
import { Session } from '../../../src/cli/session.js';
import { silent } from '../../support/command-reference.js';
import { ROOT } from '../../support/source.js';

const DOCUMENTS = [
  'README.md',
  ...readdirSync(path.join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => path.join('docs', name)),
];
/** What is made of the verbs themselves, or tells of what was. */
const LEFT_OUT = new Set(['docs/reference/cli.md']);

interface Line {
  readonly where: string;
  readonly text: string;
  /** As it is to be typed; else it may stand for several, and only its verb and its flags are looked at. */
  readonly whole: boolean;
}

/** A line of a shell up to where its own words end. */
const ownWords = (text: string): string =>
  text
    .replace(/\s#.*$/, '')
    .split(/\s(?:\||>|>>|<|&&|;|2>&1)(?:\s|$)|;\s|\)|\$\(/)[0]!
    .trim();

const STARTS =
  /^(?:\$ )?(?:[A-Z_]+=\S+ +)*(?:docker compose exec (?:-T )?\S+ |kubectl exec .*? -- )?(?:npx )?bursar +([a-z-].*)$/;

function linesOf(name: string): Line[] {
  const lines = readFileSync(path.join(ROOT, name), 'utf8')
    .replace(/\\\n\s*/g, ' ')
    .split('\n');
  let isCode = false;
  return lines.flatMap((line, at): Line[] => {
    const where = `${name}:${at + 1}`;
    if (line.trimStart().startsWith('```')) isCode = !isCode;
    else if (isCode) {
      const found = STARTS.exec(line.trim());
      if (found === null) return [];
      const text = ownWords(found[1]!);
      // What a shell puts in, or a page leaves out, is not there to be parsed.
      return [{ where, text, whole: !/\.\.\.|\$\(/.test(found[1]!) }];
    }
    return [...line.matchAll(/`(?:npx )?bursar ([a-z][^`]*)`/g)].map(([, text = '']) => ({
      where,
      text,
      whole: false,
    }));
  });
}

const words = (text: string): string[] =>
  [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, plain]) => double ?? single ?? plain ?? '');

/** A program that carries nothing out. */
async function parser(): Promise<Command> {
  const program = await programOf(new Session(silent().context));
  const still = (command: Command): void => {
    command.action(() => undefined).exitOverride();
    command.commands.forEach(still);
  };
  program.commands.forEach(still);
  return program;
}

/** What is wrong with a line; null: nothing. */
async function wrongIn({ text, whole }: Line): Promise<string | null> {
  const given = words(text);
  let command = await parser();
  let at = 0;
  for (
    let next;
    (next = command.commands.find((one) => one.name() === given[at] || one.aliases().includes(given[at]!)));
    at++
  )
    command = next;
  if (at === 0) return given[0] === 'help' ? null : `there is no verb ${given[0]}`;
  const known = new Set(['--help', '-h', '--json']);
  for (let one: Command | null = command; one !== null; one = one.parent)
    for (const { long, short } of one.options) [long, short].forEach((flag) => flag && known.add(flag));
  // A verb without a word of its own has those of the one that stands for it.
  const standing = command.commands.filter(
    // commander says nowhere else which one it is.
    (one) => Reflect.get(command, '_defaultCommandName') === one.name(),
  );
  for (const one of standing) for (const { long } of one.options) if (long) known.add(long);
  const flag = given.find((word) => word.startsWith('--') && word !== '--' && !known.has(word.split('=')[0]!));
  if (flag !== undefined) return `${given.slice(0, at).join(' ')} has no ${flag}`;
  const more = given[at];
  if (
    command.commands.length > 0 &&
    standing.length === 0 &&
    more !== undefined &&
    /^[a-z-]+$/.test(more) &&
    !more.startsWith('-')
  )
    return `${given.slice(0, at).join(' ')} has no ${more}`;
  if (!whole || given.includes('--help')) return null;
  try {
    (await parser()).parse(given, { from: 'user' });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

it('are known: verbs, flags, choices and arguments', async () => {
  const lines = DOCUMENTS.filter((name) => !LEFT_OUT.has(name)).flatMap(linesOf);
  expect(lines.filter(({ whole }) => whole).length).toBeGreaterThan(50);
  const wrong: string[] = [];
  for (const line of lines) {
    const what = await wrongIn(line);
    if (what !== null) wrong.push(`${line.where}: bursar ${line.text}: ${what}`);
  }
  expect(wrong).toEqual([]);
});

it.each([
  ['cots', 'there is no verb cots'],
  ['costs --colour red', 'costs has no --colour'],
  ['actions --state flying', 'error'],
  ['actions fly', 'error'],
  ['approve', 'error'],
])('a line that is none is found: bursar %s', async (text, wrong) => {
  expect(await wrongIn({ where: '', text, whole: true })).toContain(wrong);
});
