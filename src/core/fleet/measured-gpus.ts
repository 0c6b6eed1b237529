/**
 * The number of measured GPUs: each card counts once, whoever reports it, and split cards count as their parts.
 *
 * Pure. Two sources may report one machine, and two resources one card: a machine and the pod on it. A globally unique
 * id identifies a card (NVML's UUID, `GPU-` and hexadecimal digits). Any other id is valid only within its machine; if
 * two sources name a machine's cards differently, the source that names more is used.
 */

export interface MeasuredCards {
  readonly source: string;
  readonly resource: string;
  readonly connection: string | null;
  readonly target: string | null;
  /** Cards, or parts of them, of its newest samples. */
  readonly gpus: number;
  /** Their ids; null: kept by a version before, which did not say. */
  readonly cards: readonly { readonly gpu: string; readonly migInstance: string | null }[] | null;
}

export interface GpuCount {
  /** Cards, split or whole. */
  readonly gpus: number;
  /** Of those, the ones that are split, and the parts of them that are measured. */
  readonly split: number;
  readonly parts: number;
}

interface Seen {
  readonly cards: Set<string>;
  readonly parts: Set<string>;
}

const OF_THE_WORLD = /^GPU-[0-9a-f]{8}-/i;

export function countGpus(all: readonly MeasuredCards[]): GpuCount {
  const machines = new Map<string, Map<string, Seen>>();
  for (const one of all) {
    const machine = one.target === null ? `resource ${one.resource}` : `${one.connection ?? ''}/${one.target}`;
    const sources = machines.get(machine) ?? new Map<string, Seen>();
    machines.set(machine, sources);
    const seen = sources.get(one.source) ?? { cards: new Set(), parts: new Set() };
    sources.set(one.source, seen);
    addCards(seen, one, machine);
  }
  const cards = new Set<string>();
  const parts = new Map<string, Set<string>>();
  for (const sources of machines.values())
    for (const seen of withoutOtherNames([...sources.values()])) {
      for (const card of seen.cards) cards.add(card);
      for (const part of seen.parts) {
        const [card = ''] = part.split('\n');
        parts.set(card, (parts.get(card) ?? new Set()).add(part));
      }
    }
  return { gpus: cards.size, split: parts.size, parts: [...parts.values()].reduce((sum, of) => sum + of.size, 0) };
}

function addCards(seen: Seen, { resource, gpus, cards }: MeasuredCards, machine: string): void {
  const unnamed = Array.from({ length: gpus }, (_, n) => ({ gpu: `${resource}/${n}`, migInstance: null }));
  for (const { gpu, migInstance } of cards ?? unnamed) {
    const card = OF_THE_WORLD.test(gpu) ? gpu.toLowerCase() : `${machine} ${gpu}`;
    seen.cards.add(card);
    if (migInstance !== null) seen.parts.add(`${card}\n${migInstance}`);
  }
}

/**
 * The reports of the sources about one machine, without those that name its cards differently from a source that
 * reports more cards.
 */
function withoutOtherNames(sources: readonly Seen[]): Seen[] {
  const kept: Seen[] = [];
  for (const seen of sources.toSorted((a, b) => b.cards.size - a.cards.size))
    if (kept.length === 0 || kept.some(({ cards }) => [...seen.cards].some((card) => cards.has(card)))) kept.push(seen);
  return kept;
}

/** `8 GPUs`, `8 of its GPUs`, or `8 GPUs (1 split: 7 MIG parts)`. */
export function sayGpus({ gpus, split, parts }: GpuCount, of = '', say: (count: number) => string = String): string {
  return `${say(gpus)}${of} GPUs${split === 0 ? '' : ` (${split} split: ${parts} MIG part${parts === 1 ? '' : 's'})`}`;
}
