/** How many GPUs are measured, of rows as sources tell of them. */
import { describe, expect, it } from 'vitest';
import { countGpus, sayGpus, type MeasuredCards } from '../../../src/core/fleet/measured-gpus.js';

const uuid = (n: number): string => `GPU-${String(n).padStart(8, '0')}-1234-5678-9abc-def012345678`;
const whole = (...ids: readonly string[]) => ids.map((gpu) => ({ gpu, migInstance: null }));
const row = (over: Partial<MeasuredCards> = {}): MeasuredCards => {
  const cards = over.cards === undefined ? whole(uuid(1), uuid(2)) : over.cards;
  return {
    source: 'dcgm',
    resource: 'gpu-1',
    connection: 'aws',
    target: 'instance/us-east-1/i-1',
    gpus: cards?.length ?? 2,
    ...over,
    cards,
  };
};
const said = (...rows: readonly MeasuredCards[]): string => sayGpus(countGpus(rows));
const parts = (gpu: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({ gpu, migInstance: String(n) }));

describe('GPUs that are measured', () => {
  it.each([
    ['of one source', [row()], '2 GPUs'],
    ['of two sources that name the same cards', [row(), row({ source: 'smi', resource: 'ip-10-0-0-1' })], '2 GPUs'],
    [
      'of two sources that call the cards of one machine differently',
      [row(), row({ source: 'smi', cards: whole('gpu-1/0', 'gpu-1/1') })],
      '2 GPUs',
    ],
    [
      'of a source that sees one card, and one that sees all',
      [row({ cards: whole(uuid(2)) }), row({ source: 'smi' })],
      '2 GPUs',
    ],
    [
      'of a machine and a pod on it',
      [row(), row({ resource: 'pod/ml/a', target: 'deployment/ml/a', cards: whole(uuid(1)) })],
      '2 GPUs',
    ],
    [
      'of two machines whose cards have numbers only',
      [row({ cards: whole('gpu/0') }), row({ target: 'instance/us-east-1/i-2', cards: whole('gpu/0') })],
      '2 GPUs',
    ],
    ['of machines that nobody knows', [row({ target: null }), row({ target: null, source: 'smi' })], '2 GPUs'],
    [
      'of a version before, which kept their number',
      [row({ cards: null, gpus: 3 }), row({ cards: null, gpus: 2, source: 'smi' })],
      '3 GPUs',
    ],
    [
      'with one that is split',
      [row({ cards: [...whole(uuid(1)), ...parts(uuid(2), 7)] })],
      '2 GPUs (1 split: 7 MIG parts)',
    ],
    [
      'of which two pods hold a part of one each',
      [
        row({ resource: 'pod/ml/a', target: 'deployment/ml/a', cards: parts(uuid(1), 1) }),
        row({ resource: 'pod/ml/b', target: 'deployment/ml/b', cards: [{ gpu: uuid(1), migInstance: '5' }] }),
      ],
      '1 GPUs (1 split: 2 MIG parts)',
    ],
    ['of none', [], '0 GPUs'],
  ])('%s', (_, rows, expected) => expect(said(...rows)).toBe(expected));
});
