/**
 * The two walks of docs/explanation/source.md are true: each row names its file's room and something that stands in the
 * file, and a file of an earlier row leads there: it says the name itself, or the stage that it enqueues.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../support/source.js';

const PAGE = readFileSync(path.join(ROOT, 'docs/explanation/source.md'), 'utf8');
const ROW = /^\| ([a-z]+) \| \[([\w/.-]+)\]\([^)]+\) \| `([^`]+)` \|/gm;

/** Stages are enqueued by name, or by the name of a constant. */
const CONSTANTS: Readonly<Record<string, string>> = {
  'action.execute': 'EXECUTE',
  'action.confirm': 'CONFIRM',
  'saving.verify': 'VERIFY',
};

interface Step {
  readonly room: string;
  readonly file: string;
  readonly entered: string;
  readonly text: string;
}

function stepsIn(section: string): Step[] {
  return [...section.matchAll(ROW)].map(([, room = '', file = '', entered = '']) => ({
    room,
    file,
    entered,
    text: readFileSync(path.join(ROOT, 'src', file), 'utf8'),
  }));
}

const mentions = ({ text }: Pick<Step, 'text'>, name: string): boolean =>
  text.includes(name) || (CONSTANTS[name] !== undefined && text.includes(CONSTANTS[name]));

/** What is wrong with a walk, as readable lines. */
function problemsOf(steps: readonly Step[]): string[] {
  return steps.flatMap(({ room, file, entered, text }, at) => [
    ...(file.startsWith(`${room}/`) ? [] : [`${file} does not lie in ${room}`]),
    ...(mentions({ text }, entered) ? [] : [`${file} has no ${entered}`]),
    ...(at === 0 || steps.slice(0, at).some((before) => mentions(before, entered.split('.').pop() ?? entered))
      ? []
      : [`no file before ${file} leads to ${entered}`]),
  ]);
}

const [, record = '', approval = ''] = PAGE.split(/^### /m);

describe('the walks through the source', () => {
  it.each([
    ['a usage record', record, 15],
    ['an approval', approval, 12],
  ])('%s goes where the page says', (_, section, least) => {
    const steps = stepsIn(section);
    expect(steps.length).toBeGreaterThan(least);
    expect(problemsOf(steps)).toEqual([]);
  });

  it('would be refused with a file of another room, a name that is gone, or a step that nothing leads to', () => {
    const first = { room: 'cli', file: 'cli/one.ts', entered: 'one', text: 'one' };
    const other = { room: 'web', file: 'core/two.ts', entered: 'gone', text: 'two' };
    expect(problemsOf([first, other])).toEqual([
      'core/two.ts does not lie in web',
      'core/two.ts has no gone',
      'no file before core/two.ts leads to gone',
    ]);
  });
});
